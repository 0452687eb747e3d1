import { z } from 'zod'
import { LIMITS } from './limits.js'

/** Ids that a client may choose: sessions, holders, prepared requests, workflows, captures. */
export const idSchema = z.string().regex(/^[A-Za-z0-9_.:-]{1,128}$/, 'expected 1 to 128 of A-Z a-z 0-9 _ . : -')

/** Tool and agent names come from programs and models, so any text is accepted, up to a length. */
export const toolNameSchema = z.string().min(1).max(LIMITS.toolNameLength)
export const agentSchema = z.string().min(1).max(LIMITS.idLength)

export const LABEL_PATTERN = /^[A-Za-z0-9_-]{1,128}$/
export const labelSchema = z
  .string()
  .regex(LABEL_PATTERN, 'expected 1 to 128 letters, digits, hyphens or underscores (A-Z a-z 0-9 - _)')

export const hashSchema = z.string().regex(/^[0-9a-f]{64}$/, 'expected a SHA-256 in lower-case hex')
export const decimalSchema = z.string().regex(/^-?\d+(\.\d+)?$/, 'expected a decimal number as text')
/** Years 1000 to 9999 at any offset: JavaScript and PostgreSQL read and write those alike. */
const FIRST_TIME_MS = Date.parse('1000-01-01T00:00:00Z')
const LAST_TIME_MS = Date.parse('9999-12-31T23:59:59.999Z')
export const timeSchema = z.iso.datetime({ offset: true }).refine((text) => {
  const at = Date.parse(text)
  return at >= FIRST_TIME_MS && at <= LAST_TIME_MS
}, 'expected a time of the years 1000 to 9999')

/** The newest event of a ledger. A client that stores it can detect a truncated ledger. */
export const ledgerHeadSchema = z.strictObject({ seq: z.int(), hash: hashSchema })
export type LedgerHead = z.infer<typeof ledgerHeadSchema>

export const environmentSchema = z.enum(['development', 'staging', 'production'])
export type Environment = z.infer<typeof environmentSchema>

export const KEY_PREFIX = 'csk'
export const API_KEY_PATTERN = /^csk_[A-Za-z0-9_-]{32}$/
