import type { Quota, Route } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Quotas } from '../base/config.js'
import type { Log } from '../base/log.js'
import type { Cache } from '../base/memories.js'
import type { ReplyHeaders } from '../context/reply-headers.js'
import type { Sql } from '../postgres/sql.js'
import { spendBytes } from '../store/accounts/buckets.js'

/**
 * How many bytes a tenant may send in a day, counted on the bodies of its requests (decision 0015). What was sent is
 * counted here and written once a second, so that no request needs a statement for it. Until it is written another
 * instance does not know of it: beyond the quota each instance accepts `UNWRITTEN_BYTES` and one body at most.
 */
export interface ByteQuota {
  /** Counts a body, or throws 429. A promise where it has to wait until what was sent before is written. */
  take(sent: SentBytes, replyHeaders: ReplyHeaders): Promise<void> | null
  /** Says how long a body was that was taken before its length was known. */
  settle(tenant: SentBytes['tenant'], taken: { readonly held: number; readonly bytes: number }): void
  /** Writes what was counted, now. */
  flush(): Promise<void>
  /** Writes what was counted and stops. */
  close(): Promise<void>
}

export interface SentBytes {
  readonly tenant: { readonly tenantId: string; readonly quota: Quota }
  readonly throttle: Route['throttle']
  readonly bytes: number
  /** The length is not known, and this is the most: it is held here, and written nowhere, until it is settled. */
  readonly held: boolean
}

/** What this process knows of a tenant's bytes. */
export interface ByteCount {
  readonly tenantId: string
  perDay: number
  unwritten: number
  held: number
  /** What was left when it was last written, and when that was. Null until then. */
  written: { readonly left: number; readonly atMs: number } | null
}

export interface ByteQuotaParts {
  readonly sql: Sql
  readonly quotas: Quotas
  readonly log: Log
  readonly counts: Cache<ByteCount>
  readonly elapsedMs?: () => number
}

export const UNWRITTEN_BYTES = 8 * 1024 * 1024
const DAY_SECONDS = 86_400
const WRITE_DELAY_MS = 1_000
const COUNT_BYTES = 500

export function createByteQuota({
  sql,
  quotas,
  log,
  counts,
  elapsedMs = () => performance.now(),
}: ByteQuotaParts): ByteQuota {
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  const countOf = ({ tenantId, quota }: SentBytes['tenant']): ByteCount => {
    const perDay = quotas[quota].bytes
    const known = counts.get(tenantId)
    if (known !== undefined) {
      known.perDay = perDay
      return known
    }
    const count: ByteCount = { tenantId, perDay, unwritten: 0, held: 0, written: null }
    counts.set(tenantId, count, { size: COUNT_BYTES })
    return count
  }

  const leftOf = ({ perDay, unwritten, held, written }: ByteCount): number => {
    if (written === null) return perDay - unwritten - held
    const refilled = ((elapsedMs() - written.atMs) / 1_000) * (perDay / DAY_SECONDS)
    return Math.min(perDay, written.left + refilled) - unwritten - held
  }

  const addUnwritten = (count: ByteCount, bytes: number) => {
    count.unwritten += bytes
    schedule(count.written === null ? 0 : WRITE_DELAY_MS)
  }

  const add = (count: ByteCount, { throttle, bytes, held, tenant }: SentBytes, replyHeaders: ReplyHeaders) => {
    const missing = lowestOf(throttle, count.perDay) + bytes - leftOf(count)
    if (missing > 0) throw exceeded(count.perDay, tenant.quota, missing, replyHeaders)
    if (held) count.held += bytes
    else addUnwritten(count, bytes)
  }

  const write = async () => {
    const batch = [...counts.values()].filter(({ unwritten }) => unwritten > 0)
    if (batch.length === 0) return
    const spent = batch.map(({ tenantId, perDay, unwritten }) => ({
      owner: tenantId,
      capacity: perDay,
      spent: unwritten,
    }))
    try {
      const left = await spendBytes(sql, spent, DAY_SECONDS)
      const atMs = elapsedMs()
      for (const [at, count] of batch.entries()) {
        count.unwritten -= spent[at]?.spent ?? 0
        count.written = { left: left.get(count.tenantId) ?? count.perDay, atMs }
      }
    } catch (error) {
      log.warn({ error, tenants: batch.length }, 'could not record how many bytes tenants sent')
      schedule(WRITE_DELAY_MS)
    }
  }

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(write)
    return writing
  }

  const schedule = (delayMs: number) => {
    if (timer !== undefined) return
    timer = setTimeout(() => void flush(), delayMs)
    timer.unref()
  }

  return {
    take: (sent, replyHeaders) => {
      const count = countOf(sent.tenant)
      if (count.unwritten < UNWRITTEN_BYTES) {
        add(count, sent, replyHeaders)
        return null
      }
      return flush().then(() => add(count, sent, replyHeaders))
    },
    settle: (tenant, { held, bytes }) => {
      const count = countOf(tenant)
      count.held = Math.max(0, count.held - held)
      addUnwritten(count, bytes)
    },
    flush,
    close: async () => {
      await flush()
      clearTimeout(timer)
    },
  }
}

/**
 * What must be left after a request. A stop is never refused. Evidence of calls that were allowed is refused only when
 * another day's bytes are used up: otherwise a program could not report what it has done.
 */
function lowestOf(throttle: Route['throttle'], perDay: number): number {
  if (throttle === 'stop') return Number.NEGATIVE_INFINITY
  return throttle === 'evidence' ? -perDay : 0
}

function exceeded(perDay: number, quota: Quota, missing: number, replyHeaders: ReplyHeaders): ApiError {
  const waitSeconds = Math.ceil(missing / (perDay / DAY_SECONDS))
  replyHeaders.set('ratelimit-policy', `"bytes";q=${perDay};w=${DAY_SECONDS}`)
  replyHeaders.set('ratelimit', `"bytes";r=0;t=${waitSeconds}`)
  const detail =
    `the quota ${quota} takes ${inMegabytes(perDay)} MB of requests a day, and they are used up; ` +
    `this request fits again in ${waitSeconds} seconds; send less, for example at a lower capture level, ` +
    'or ask the operator for a larger quota (`countersign tenant quota`, or bytes in COUNTERSIGN_QUOTAS)'
  return new ApiError('RATE_LIMITED', { detail, limit_bytes: perDay }, { 'retry-after': String(waitSeconds) })
}

const inMegabytes = (bytes: number): string => (bytes / 1e6).toLocaleString('en-US', { maximumFractionDigits: 1 })
