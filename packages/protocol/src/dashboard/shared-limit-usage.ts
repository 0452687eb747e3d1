import { z } from 'zod'
import { decimalSchema, timeSchema } from '../base/ids.js'
import { LIMITS } from '../base/limits.js'

/** `key`: a customer, a principal, an agent or a workflow. Only what is counted for it is listed then. */
export const sharedLimitsQuery = z.strictObject({ key: z.string().min(1).max(LIMITS.keyLength).optional() })

/** What is used of a limit for one of its keys. */
export const limitKeySchema = z.strictObject({
  /** A salted hash; the value itself is not stored. */
  id: z.string(),
  /** The key, where it is no secret: the name of an agent, or what was asked for. */
  name: z.string().nullable(),
  used: decimalSchema,
  /** When something of it stops to count. Null: nothing counts. */
  frees_at: timeSchema.nullable(),
})
export type LimitKey = z.infer<typeof limitKeySchema>

/** A limit over all sessions, as sessions of the last window have used it. */
export const sharedLimitUsageSchema = z.strictObject({
  name: z.string(),
  per: z.enum(['argument', 'principal', 'agent', 'workflow', 'tenant']),
  counts: z.enum(['calls', 'sum', 'cost']),
  window: z.string(),
  most: decimalSchema,
  /** At most 20: those that have used most of it come first. */
  keys: z.array(limitKeySchema),
  /** How many keys are in use. At most 5,000 are looked at; `more` says that there are others. */
  keys_in_use: z.int(),
  more: z.boolean(),
})
export type SharedLimitUsage = z.infer<typeof sharedLimitUsageSchema>

export const sharedLimitsReply = z.strictObject({
  limits: z.array(sharedLimitUsageSchema),
  /** Only the first limits are listed and looked through: there are others. */
  more: z.boolean(),
})
