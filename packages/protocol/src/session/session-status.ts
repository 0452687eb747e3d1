import { z } from 'zod'

export const SESSION_STATUSES = ['ACTIVE', 'RECOVERING', 'COMPROMISED', 'KILLED'] as const
export const sessionStatusSchema = z.enum(SESSION_STATUSES)
export type SessionStatus = z.infer<typeof sessionStatusSchema>
