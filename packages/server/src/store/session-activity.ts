import type { Queryable } from '../postgres/sql.js'

/** Of a session `s`: not ended by its program, and not stopped for good. */
export const mayGoOn = (sql: Queryable) => sql`(s.ended_at is null and s.status in ('ACTIVE', 'RECOVERING'))`

/** Of a session `s` and its head `h`: the same as `activityOf` says of a loaded session. */
export const activityOfRow = (sql: Queryable) => sql`
  case when not ${mayGoOn(sql)} then 'ended' when h.lease_until > statement_timestamp() then 'running' else 'idle' end`
