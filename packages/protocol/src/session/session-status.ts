import { z } from 'zod'

export const SESSION_STATUSES = ['ACTIVE', 'RECOVERING', 'COMPROMISED', 'KILLED'] as const
export const sessionStatusSchema = z.enum(SESSION_STATUSES)
export type SessionStatus = z.infer<typeof sessionStatusSchema>

/**
 * Whether a session is in use. `running`: its holder has a lease. `idle`: the lease has run out, and it can be
 * recovered. `ended`: its program ended it, or it was stopped for good.
 */
export const SESSION_ACTIVITIES = ['running', 'idle', 'ended'] as const
export const sessionActivitySchema = z.enum(SESSION_ACTIVITIES)
export type SessionActivity = z.infer<typeof sessionActivitySchema>
