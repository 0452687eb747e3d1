import type { Environment, JsonObject } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'

export interface RuleStats {
  readonly rule: string
  readonly toolName: string
  readonly agent: string | null
  readonly reason: string | null
  readonly sessions: number
  readonly asked: number
  readonly approved: number
  readonly denied: number
  readonly expired: number
  readonly withdrawn: number
  readonly medianSeconds: number | null
}

interface Period {
  readonly tenantId: string
  readonly days: number
}

/** The rules that asked most. An expired question counts as such from its time on. */
export function listRuleStats(sql: Queryable, { tenantId, days }: Period): Promise<RuleStats[]> {
  return sql<RuleStats[]>`
    select q.rule, q.tool_name, q.agent, max(q.reason) as reason, count(distinct q.session_id)::int as sessions,
      count(*)::int as asked,
      (count(*) filter (where q.state = 'used' or q.state = 'approved' or q.usable_until is not null and q.state <> 'denied'))::int
        as approved,
      (count(*) filter (where q.state = 'denied'))::int as denied,
      (count(*) filter (where q.usable_until is null and (q.state = 'expired'
        or q.state = 'waiting' and q.expires_at < statement_timestamp())))::int as expired,
      (count(*) filter (where q.state = 'withdrawn' and q.usable_until is null))::int as withdrawn,
      (percentile_cont(0.5) within group (order by extract(epoch from q.decided_at - q.card_at))
        filter (where q.state = 'denied' or q.usable_until is not null))::float8 as median_seconds
    from questions q
    where q.tenant_id = ${tenantId} and q.asked_at >= ${daysAgo(sql, days)}
    group by q.rule, q.tool_name, q.agent order by asked desc, q.rule, q.agent limit 200`
}

export interface PersonStats {
  readonly userId: string
  readonly name: string | null
  readonly answers: number
  readonly approved: number
  readonly medianSeconds: number | null
}

/** Who answered most. */
export function listPersonStats(sql: Queryable, { tenantId, days }: Period): Promise<PersonStats[]> {
  return sql<PersonStats[]>`
    select a.user_id, (
        select coalesce(u.name, u.email) from users u
        where u.tenant_id = ${tenantId} and u.user_id = a.user_id and u.removed_at is null
      ) as name, count(*)::int as answers, (count(*) filter (where a.decision = 'approve'))::int as approved,
      (percentile_cont(0.5) within group (order by extract(epoch from a.at - q.asked_at)))::float8 as median_seconds
    from answers a join questions q on q.tenant_id = ${tenantId} and q.question_id = a.question_id
    where a.tenant_id = ${tenantId} and a.at >= ${daysAgo(sql, days)}
    group by a.user_id order by answers desc, a.user_id limit 200`
}

/** Questions of the tenant that wait, and those of them of which no notice has arrived after five minutes. */
export async function countWaiting(
  sql: Queryable,
  tenantId: string,
): Promise<{ waiting: number; undelivered: number }> {
  const [row] = await sql<{ waiting: number; undelivered: number }[]>`
    select count(*)::int as waiting,
      (count(*) filter (where q.asked_at < statement_timestamp() - interval '5 minutes' and not exists (
        select from deliveries d where d.tenant_id = ${tenantId} and d.question_id = q.question_id
          and d.channel = 'mail' and d.sent_at is not null
      )))::int as undelivered
    from questions q
    where q.tenant_id = ${tenantId} and q.state = 'waiting' and q.expires_at >= statement_timestamp()`
  return row ?? { waiting: 0, undelivered: 0 }
}

/**
 * The calls that a rule asked an agent's people about and that they decided, where their arguments are still stored; all of
 * one environment, that of the newest. First those that were not approved as they were asked, then the newest.
 */
export async function listDecidedCalls(
  sql: Queryable,
  { tenantId, agent, rule, limit }: { tenantId: string; agent: string; rule: string; limit: number },
): Promise<{
  environment: Environment | null
  decided: { readonly arguments: JsonObject; readonly approved: boolean }[]
}> {
  const ofRule = sql`q.tenant_id = ${tenantId} and q.agent = ${agent} and q.rule = ${rule}`
  const [newest] = await sql<{ environment: Environment }[]>`
    select q.environment from questions q where ${ofRule} and q.environment is not null order by q.asked_at desc limit 1`
  if (newest === undefined) return { environment: null, decided: [] }
  const decided = await sql<{ arguments: JsonObject; approved: boolean }[]>`
    select q.card -> 'arguments' as arguments, q.state <> 'denied' and q.edited_hash is null as approved from questions q
    where ${ofRule} and q.environment = ${newest.environment} and q.card is not null
      and (q.state = 'denied' or q.usable_until is not null)
    order by approved, q.asked_at desc limit ${limit}`
  return { environment: newest.environment, decided }
}
