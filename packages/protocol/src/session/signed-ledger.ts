import { z } from 'zod'
import { hashSchema, timeSchema } from '../base/ids.js'

/** An Ed25519 signature, in base64url. */
const signatureSchema = z.string().regex(/^[A-Za-z0-9_-]{86}$/)

/** The first 32 hex digits of the SHA-256 of the public key. */
const keyIdSchema = z.string().regex(/^[0-9a-f]{32}$/)

/** The head of a ledger as the service signed it, with a key that is not in its database. */
export const signedHeadSchema = z.strictObject({
  ledger: z.enum(['session', 'workflow']),
  tenant_id: z.string(),
  /** The session or workflow. */
  id: z.string(),
  seq: z.int().min(1),
  hash: hashSchema,
  signed_at: timeSchema,
  key_id: keyIdSchema,
  /** Over the canonical JSON of all other members and `"purpose":"countersign ledger head"`. */
  signature: signatureSchema,
})
export type SignedHead = z.infer<typeof signedHeadSchema>

/** A key that heads and seals are or were signed with. */
export const ledgerKeySchema = z.strictObject({
  key_id: keyIdSchema,
  algorithm: z.literal('ed25519'),
  /** The raw 32 bytes, in base64url. */
  public_key: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  /** Whether the service signs with it now. */
  current: z.boolean(),
})
export type LedgerKey = z.infer<typeof ledgerKeySchema>

/** Where the public keys are, for everybody. */
export const LEDGER_KEYS_PATH = '/.well-known/countersign-ledger-keys'
export const ledgerKeysReply = z.strictObject({ keys: z.array(ledgerKeySchema) })

/** One batch of signed heads. Who keeps these lines elsewhere notices when the database is set back. */
export const sealSchema = z.strictObject({
  number: z.int().min(1),
  at: timeSchema,
  /** Over the heads of the batch. */
  digest: hashSchema,
  /** Over the seal before; 64 zeros before the first. */
  prev_digest: hashSchema,
  key_id: keyIdSchema,
  /** Over the canonical JSON of all other members and `"purpose":"countersign seal"`. */
  signature: signatureSchema,
})
export type Seal = z.infer<typeof sealSchema>

export const sealsQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(1_000).default(500),
})
export const sealsReply = z.strictObject({
  seals: z.array(sealSchema),
  /** Pass as `after` for the next page; null at the end. */
  next: z.int().nullable(),
})
