import type { BlockReason, CallRow, EvidenceLevel, Outcome } from '@countersign/protocol'
import type { PageEnd } from '../../base/time-cursor.js'
import type { Fragment, Queryable } from '../../postgres/sql.js'
import { endTime, type FoundPage, microseconds, pageEnd, pageTime } from '../page-time.js'
import { countedUntil } from './decision-counts.js'
import { unanswered } from './unanswered-calls.js'

export interface ListedCall {
  at: Date
  sessionId: string
  agent: string
  seq: number
  index: number
  toolName: string
  decision: 'allow' | 'block'
  reason: BlockReason | null
  outcome: Outcome | null
  evidenceLevel: EvidenceLevel | null
  pageAt: string
  pageKey: string
}

/** As a page lists it. */
export const callRow = (call: ListedCall): CallRow => ({
  at: call.at.toISOString(),
  session_id: call.sessionId,
  agent: call.agent,
  seq: call.seq,
  index: call.index,
  tool_name: call.toolName,
  decision: call.decision,
  reason: call.reason,
  outcome: call.outcome,
  evidence_level: call.evidenceLevel,
})

export interface CallFilter {
  tenantId: string
  /** Null: any. */
  agent: string | null
  decision: 'allow' | 'block' | null
  /** The reason that was reported: the first that applied. */
  reason: string | null
  /** Only unanswered calls. */
  unanswered: boolean
  sessionId: string | null
  toolName?: string
  from: Date | null
  to: Date | null
  below: PageEnd | null
  limit: number
}

/** Judged calls, newest first. */
export async function listCalls(sql: Queryable, filter: CallFilter): Promise<FoundPage<ListedCall>> {
  if (filter.unanswered) return listUnanswered(sql, filter)
  return { rows: await listJudged(sql, filter), stopped: null }
}

async function listJudged(sql: Queryable, filter: CallFilter): Promise<ListedCall[]> {
  if (filter.sessionId !== null) return listOfSession(sql, filter)
  const { enough, all } = await periodsOf(sql, filter)
  // A call that was stopped after it had been counted may leave a page short of its rows: then twice as far back.
  for (let count = enough.length; ; count *= 2) {
    const found = await listWithin(sql, filter, all.slice(0, count))
    if (found.length >= filter.limit || count >= all.length) return found
  }
}

async function listWithin(sql: Queryable, filter: CallFilter, periods: readonly Period[]): Promise<ListedCall[]> {
  if (periods.length === 0) return []
  // A row for each period, and its events before anything else is asked of them, so that each is found by the index on time
  // and tenant: PostgreSQL expects thousands of events in a period and would look through all proposals of the tenant as well.
  return sql<ListedCall[]>`
    select ${columns(sql)}
    from json_to_recordset(${JSON.stringify(periods)}::text::json) as m (since timestamptz, until timestamptz)
    cross join lateral (
      select e.tenant_id, e.session_id, e.seq, e.at as proposed_at, e.record::json -> 'decisions' as decisions
      from (
        select * from session_events
        where tenant_id = ${filter.tenantId} and at >= m.since and at < m.until and request_id is not null
          and hashtext(tenant_id) = hashtext(${filter.tenantId}::text)
        offset 0
      ) as e
      offset 0
    ) as p
    ${joinSession(sql, filter)} cross join lateral json_array_elements(p.decisions) d ${joinReceipt(sql, filter)}
    where ${matches(sql, filter)}
    order by p.proposed_at desc, page_key desc limit ${filter.limit}`
}

function listOfSession(sql: Queryable, filter: CallFilter): Promise<ListedCall[]> {
  return sql<ListedCall[]>`
    select ${columns(sql)}
    from proposals p
    ${joinSession(sql, filter)} cross join lateral json_array_elements(p.decisions) d ${joinReceipt(sql, filter)}
    where p.tenant_id = ${filter.tenantId} and ${matches(sql, filter)}
    order by p.proposed_at desc, page_key desc limit ${filter.limit}`
}

/** Of those that were noted, so many are looked through for one page. */
const MOST_NOTED = 10_000

async function listUnanswered(sql: Queryable, filter: CallFilter): Promise<FoundPage<ListedCall>> {
  // They were allowed.
  if (filter.decision === 'block' || filter.reason !== null) return { rows: [], stopped: null }
  const stopped = filter.sessionId === null ? await endOfNoted(sql, filter) : null
  const noted = sql`${notedCalls(sql, filter)} ${stopped === null ? sql`` : sql`and u.at >= ${endTime(sql, stopped)}`}`
  // The page first: each of its calls is taken from the decisions of a whole response.
  const rows = await sql<ListedCall[]>`
    with page as materialized (
      select u.* from (${unanswered(sql, filter.tenantId, noted)}) as u
      where true ${filter.agent === null ? sql`` : sql`and u.agent = ${filter.agent}`}
        ${filter.below === null ? sql`` : sql`and (u.at, ${notedKey(sql)}) < ${pageEnd(sql, filter.below)}`}
      order by u.at desc, ${notedKey(sql)} desc limit ${filter.limit}
    )
    select ${columns(sql)}
    from page u
    cross join lateral (
      select tenant_id, session_id, seq, u.at as proposed_at, decisions from proposals
      where tenant_id = ${filter.tenantId} and session_id = u.session_id and seq = u.seq offset 0
    ) as p
    ${joinSession(sql, filter)} cross join lateral json_array_elements(p.decisions) d ${joinReceipt(sql, filter)}
    where (d ->> 'index')::int = u.call_index
    order by p.proposed_at desc, page_key desc`
  return { rows, stopped }
}

const notedCalls = (sql: Queryable, { tenantId, sessionId, from, to, below }: CallFilter) => sql`
  select u.* from ${sessionId === null ? sql`unanswered_calls u` : notedOfSession(sql, tenantId, sessionId)}
  where u.tenant_id = ${tenantId}
    ${from === null ? sql`` : sql`and u.at >= ${from}`}
    ${to === null ? sql`` : sql`and u.at < ${to}`}
    ${below === null ? sql`` : sql`and u.at <= ${endTime(sql, below)}`}`

/** Those of a session are found by its proposals. */
const notedOfSession = (sql: Queryable, tenantId: string, sessionId: string) => sql`
  (select seq, proposed_at from proposals where tenant_id = ${tenantId} and session_id = ${sessionId}) as p
  cross join lateral (
    select * from unanswered_calls n
    where n.tenant_id = ${tenantId} and n.at = p.proposed_at and n.session_id = ${sessionId} and n.seq = p.seq offset 0
  ) as u`

/** Where a page stops looking, with all calls of that moment. Null: it looks at all that are left. */
async function endOfNoted(sql: Queryable, filter: CallFilter): Promise<PageEnd | null> {
  const [end] = await sql<PageEnd[]>`
    select ${microseconds(sql, sql`u.at`)} as at, min(${notedKey(sql)}) as id
    from unanswered_calls u
    where u.tenant_id = ${filter.tenantId} and u.at = (
      select at from (${notedCalls(sql, filter)}) as noted order by at desc offset ${MOST_NOTED - 1} limit 1
    )
    group by u.at`
  return end ?? null
}

const notedKey = (sql: Queryable) => callKey(sql, sql`u.session_id`, sql`u.seq::text`, sql`u.call_index::text`)

interface Period {
  since: Date
  until: Date
}

/** Newest first, and none overlaps another. */
interface Periods {
  /** The newest ones that are counted to fill the page. */
  readonly enough: readonly Period[]
  readonly all: readonly Period[]
}

/**
 * Where the next page can be found: the newest minutes that are counted to hold a call of this kind, as many as the page
 * has rows, and before them what is not counted yet.
 */
async function periodsOf(sql: Queryable, filter: CallFilter): Promise<Periods> {
  const { tenantId, agent, decision, reason, from, to, below, limit } = filter
  const end =
    below === null ? (to ?? FOREVER) : new Date(Math.min(Math.ceil(Number(below.at) / 1_000) + 1, FOREVER.getTime()))
  const until = await countedUntil(sql)
  const newest: Period = { since: from !== null && from > until ? from : until, until: to ?? FOREVER }
  const after = from === null ? null : new Date(from.getTime() - MINUTE_MS)
  const minutes = await sql<{ at: Date; calls: number }[]>`
    select at, sum(calls)::int as calls from (
      (
        select at, sum(calls) as calls from decision_counts
        where tenant_id = ${tenantId} and grain = 'minute' and at < ${end} and calls > 0
          ${after === null ? sql`` : sql`and at > ${after}`}
          ${agent === null ? sql`` : sql`and agent = ${agent}`}
          ${reason === null ? sql`` : sql`and reason = ${reason}`}
          ${decision === null ? sql`` : decision === 'allow' ? sql`and reason = ''` : sql`and reason <> ''`}
        group by at order by at desc limit ${limit + 1}
      )
      union all
      select date_trunc('minute', proposed_at), 0 from stopped_calls
      where tenant_id = ${tenantId} and at >= ${until} and proposed_at < ${end}
        ${after === null ? sql`` : sql`and proposed_at > ${after}`}
    ) as found
    group by at order by at desc limit ${limit + 1}`
  const all = [
    ...(end > newest.since ? [newest] : []),
    ...minutes.map(({ at }) => ({ since: at, until: new Date(Math.min(at.getTime() + MINUTE_MS, until.getTime())) })),
  ]
  // The first minute may hold calls beyond the end of the page before, and the last one some before `from`.
  let calls = 0
  const last = minutes.findIndex((minute, index) => {
    if (index > 0) calls += minute.calls
    return calls >= limit
  })
  return { all, enough: last < 0 ? all : all.slice(0, all.length - minutes.length + last + 1) }
}

const MINUTE_MS = 60_000
const FOREVER = new Date('9999-01-01T00:00:00Z')

/** Looked up for each call: PostgreSQL, which expects far more calls than a page has, would read both tables whole. */
const joinSession = (sql: Queryable, { tenantId }: CallFilter) => sql`
  cross join lateral (
    select s.agent from sessions s where s.tenant_id = ${tenantId} and s.session_id = p.session_id offset 0
  ) as s`

const joinReceipt = (sql: Queryable, { tenantId }: CallFilter) => sql`
  left join lateral (
    select r.record from receipts r where r.tenant_id = ${tenantId} and r.session_id = p.session_id
      and r.pending_call_id = d ->> 'pending_call_id' offset 0
  ) as r on true
  cross join lateral (
    select ${callKey(sql, sql`p.session_id`, sql`p.seq::text`, sql`d ->> 'index'`)} as page_key offset 0
  ) as k`

/** Orders the calls of one moment. */
const callKey = (sql: Queryable, sessionId: Fragment, seq: Fragment, index: Fragment) =>
  sql`${sessionId} || ':' || lpad(${seq}, 10, '0') || ':' || lpad(${index}, 4, '0')`

/** Why the call was blocked, or stopped after it had been allowed. */
const reasonOf = (sql: Queryable) => sql`coalesce(d ->> 'reason', r.record::json ->> 'block_reason')`

const columns = (sql: Queryable) => sql`
  p.proposed_at as at, p.session_id, s.agent, p.seq, (d ->> 'index')::int as index, d ->> 'tool_name' as tool_name,
  case when ${reasonOf(sql)} is null then 'allow' else 'block' end as decision, ${reasonOf(sql)} as reason, r.record::json ->> 'outcome' as outcome,
  r.record::json ->> 'evidence_level' as evidence_level, ${pageTime(sql, sql`p.proposed_at`)}, k.page_key`

const matches = (sql: Queryable, { sessionId, toolName, agent, decision, reason, from, to, below }: CallFilter) => sql`
  (d ->> 'reason' is not null or d ->> 'decision' = 'allow')
  ${sessionId === null ? sql`` : sql`and p.session_id = ${sessionId}`}
  ${toolName === undefined ? sql`` : sql`and d ->> 'tool_name' = ${toolName}`}
  ${agent === null ? sql`` : sql`and s.agent = ${agent}`}
  ${decision === null ? sql`` : decision === 'allow' ? sql`and ${reasonOf(sql)} is null` : sql`and ${reasonOf(sql)} is not null`}
  ${reason === null ? sql`` : sql`and ${reasonOf(sql)} = ${reason}`}
  ${from === null ? sql`` : sql`and p.proposed_at >= ${from}`}
  ${to === null ? sql`` : sql`and p.proposed_at < ${to}`}
  ${below === null ? sql`` : sql`and (p.proposed_at, k.page_key) < ${pageEnd(sql, below)}`}`
