import { violates } from '../../postgres/database-error.js'
import type { Queryable } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'

/** A token that opens a session, which no other session may be opened with. */
export interface UsedToken {
  readonly issuer: string
  readonly jtiHash: string
  readonly expiresAt: Date
}

/** The token has opened another session. */
export const isTokenUsed = (error: unknown): boolean => violates(error, 'used_tokens_pkey')

/** Removes tokens that expired more than `days` ago. Returns how many. */
export function deleteExpiredTokens(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(sql, 'used_tokens', sql`expires_at < ${daysAgo(sql, days)}`, limit)
}
