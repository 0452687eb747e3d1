import { isIP } from 'node:net'
import { LIMITS, QUOTAS, type Quota, type QuotaNumbers } from '@countersign/protocol'
import { z } from 'zod'
import { forOneHost, hostsOf, sessionAttributes } from './database-address.js'

export function text(value: string): string {
  if (value === '') throw new Error('is empty')
  return value
}

export function oneLine(value: string): string {
  if (value === '' || /[\r\n]/.test(value)) throw new Error('must be one line')
  return value
}

export function integer(min: number, max: number) {
  return (value: string): number => {
    const number = /^[0-9]+$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= min && number <= max)) throw new Error(`"${value}" is not a whole number from ${min} to ${max}`)
    return number
  }
}

export function oneOf<const Choice extends string>(choices: readonly Choice[]) {
  return (value: string): Choice => {
    const found = choices.find((choice) => choice === value)
    if (found === undefined) throw new Error(`"${value}" is not one of ${choices.join(', ')}`)
    return found
  }
}

export function onOff(value: string): boolean {
  if (/^(on|true|1|yes)$/i.test(value)) return true
  if (/^(off|false|0|no)$/i.test(value)) return false
  throw new Error(`"${value}" is neither on nor off`)
}

function address(value: string, protocols: readonly string[]): URL {
  const url = URL.canParse(value) ? new URL(value) : null
  // The value is not repeated: it may contain a password.
  if (!url || !protocols.includes(url.protocol))
    throw new Error(`must be a URL that starts with ${protocols.join(' or ')}`)
  return url
}

export function webAddress(value: string): string {
  const url = address(value, ['http:', 'https:'])
  if (url.username !== '' || url.search !== '' || url.hash !== '')
    throw new Error('must be a URL without user name, query or fragment')
  return url.href.replace(/\/$/, '')
}

export function databaseAddress(value: string): string {
  address(forOneHost(value), ['postgres:', 'postgresql:'])
  hostsOf(value)
  const attributes = sessionAttributes(value)
  if (attributes !== null && attributes !== 'read-write' && attributes !== 'primary')
    throw new Error('target_session_attrs must be read-write: every instance writes')
  return value
}

export function smtpAddress(value: string): string {
  address(value, ['smtp:', 'smtps:'])
  return value
}

export function networks(value: string): readonly string[] {
  const list = value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  for (const network of list) {
    const [ip = '', bits] = network.split('/')
    const family = isIP(ip)
    const fits = bits === undefined || (/^[0-9]+$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
    if (family === 0 || !fits) throw new Error(`"${network}" is not an IP address or network`)
  }
  return list
}

/** Never repeated in a message. */
export function secret(length: number) {
  return (value: string): string => {
    if (!/^[\x21-\x7e]+$/.test(value)) throw new Error('must be one line of printable characters without spaces')
    if (value.length < length) throw new Error(`is shorter than ${length} characters`)
    return value
  }
}

export function signingKeys(value: string): readonly string[] {
  const keys = value.split(',').map((part) => part.trim())
  if (keys.some((key) => key.length < 32)) throw new Error('contains a key shorter than 32 characters')
  return keys
}

/** Checked here as far as their form goes. */
export function ledgerKeys(value: string): readonly string[] {
  const keys = value.split(',').map((part) => part.trim())
  if (!keys.every((key) => /^(private|public):[A-Za-z0-9_-]{43}$/.test(key)) || !keys[0]?.startsWith('private:'))
    throw new Error('the first must be private: and 43 characters, the others public: or private:')
  return keys
}

export type Quotas = Readonly<Record<Quota, QuotaNumbers>>

const rate = z.number().positive().max(1e9).optional()
const changes = z
  .strictObject({
    write: rate,
    read: rate,
    proposal: rate,
    capture: rate,
    evidence: rate,
    dashboard: rate,
    runs: z.int().min(0).optional(),
    /** A day's bytes hold the largest body there is. */
    bytes: z.int().min(LIMITS.bodyBytes).optional(),
  })
  .default({})
const quotaChanges = z.strictObject({ free: changes, team: changes, scale: changes })

export function quotas(value: string): Quotas {
  let parsed: unknown
  try {
    parsed = JSON.parse(value)
  } catch {
    throw new Error('is not valid JSON')
  }
  const result = quotaChanges.safeParse(parsed)
  if (!result.success) throw new Error(z.prettifyError(result.error))
  const changed = (quota: Quota): QuotaNumbers => {
    const given = Object.entries(result.data[quota]).filter(([, number]) => number !== undefined)
    return { ...QUOTAS[quota], ...Object.fromEntries(given) }
  }
  return { free: changed('free'), team: changed('team'), scale: changed('scale') }
}
