import type { BlockReason, Environment, SessionActivity, SessionStatus } from '@countersign/protocol'
import type { PageEnd } from '../../base/time-cursor.js'
import type { Queryable } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { type FoundPage, microseconds, pageEnd, pageTime } from '../page-time.js'
import { activityOfRow, mayGoOn } from '../session-activity.js'

export interface ListedSession {
  sessionId: string
  agent: string
  environment: Environment | null
  status: SessionStatus
  activity: SessionActivity
  endedAt: Date | null
  phase: string | null
  labels: string[]
  stateVersion: number
  allowedCalls: number
  blockedCalls: number
  inDoubt: number
  unanswered: number
  lastReason: BlockReason | null
  actualCost: string
  workflowId: string | null
  createdAt: Date
  updatedAt: Date
  pageAt: string
}

/** Characters of what is kept of the sessions of a page, and of one session more. Labels alone may be 16,000 of each. */
const PAGE_SIZE = 256 * 1024

export interface SessionPage extends FoundPage<ListedSession> {
  /** There are more, although not as many came as were asked for: because they are large. */
  readonly isCut: boolean
}

export interface SessionFilter {
  tenantId: string
  /** The beginning of a session's id, or an agent's whole name. */
  search: string | null
  /** Agent '' stands for none. */
  agent: string | null
  environment: Environment | null
  status: SessionStatus | null
  activity: SessionActivity | null
  workflowId: string | null
  reason: string | null
  label: string | null
  from: Date | null
  to: Date | null
  /** Where the page before ended, in the order of creation. */
  below: PageEnd | null
  oldestFirst: boolean
  limit: number
}

/** Sessions by their start; fewer than the limit where they are large. Each filter has an index that lists its sessions in this order, or few of them. */
export async function listSessions(sql: Queryable, filter: SessionFilter): Promise<SessionPage> {
  const { tenantId, below, oldestFirst } = filter
  const [beyond, direction] = oldestFirst ? [sql`>`, sql`asc`] : [sql`<`, sql`desc`]
  const facets = [
    ...(filter.reason === null ? [] : [{ kind: 'reason', value: filter.reason }]),
    ...(filter.label === null ? [] : [{ kind: 'label', value: filter.label }]),
  ]
  const [first, second] = facets
  // The first facet leads, in its own order; whatever else is asked for narrows it, session by session (`offset 0`): PostgreSQL
  // may expect fewer sessions of an agent or state, and would look through all of them.
  const lead = first === undefined ? 's' : 'f'
  const from =
    first === undefined
      ? sql`sessions s where s.tenant_id = ${tenantId}`
      : sql`session_facets f cross join lateral (
            select * from sessions where tenant_id = ${tenantId} and session_id = f.session_id offset 0
          ) as s
          where f.tenant_id = ${tenantId} and f.kind = ${first.kind} and f.value = ${first.value}`
  const found = filter.search === null ? null : await look(sql, tenantId, filter.search)
  const stopped = first === undefined || !isNarrowed(filter, second) ? null : await endOfLook(sql, filter, first)
  // The page first: PostgreSQL would look into the heads of all sessions of a small tenant to sort them afterwards.
  const rows = await sql<(ListedSession & { inPage: number })[]>`
    with page as materialized (
      select s.* from ${from}
      ${below === null ? sql`` : sql`and (${sql(lead)}.created_at, ${sql(lead)}.session_id) ${beyond} ${pageEnd(sql, below)}`}
      ${withinPeriod(sql, lead, filter)}
      ${stopped === null ? sql`` : sql`and (f.created_at, f.session_id) ${oldestFirst ? sql`<=` : sql`>=`} ${pageEnd(sql, stopped)}`}
      ${filter.agent === null ? sql`` : sql`and s.agent = ${filter.agent}`}
      ${filter.environment === null ? sql`` : sql`and s.environment = ${filter.environment}`}
      ${filter.activity === null ? sql`` : withActivity(sql, tenantId, filter.activity)}
      ${filter.status === null ? sql`` : sql`and s.status = ${filter.status}`}
      ${filter.workflowId === null ? sql`` : sql`and s.workflow_id = ${filter.workflowId}`}
      ${second === undefined ? sql`` : withFacet(sql, tenantId, second)}
      ${filter.search === null || found === null ? sql`` : foundBy(sql, filter, filter.search, found)}
      order by ${sql(lead)}.created_at ${direction}, ${sql(lead)}.session_id ${direction}
      limit ${filter.limit}
    ), measured as (
      select s.*, h.lease_until, h.facts, h.state, count(*) over () as in_page,
        sum(octet_length(h.facts)) over (order by s.created_at ${direction}, s.session_id ${direction})
          - octet_length(h.facts) as size_before
      from page s ${joinHead(sql, tenantId)}
    )
    select ${columns(sql)}, s.in_page::int
    from measured s cross join lateral (select s.lease_until, s.facts, s.state) as h ${READ_FACTS(sql)}
    where s.size_before < ${PAGE_SIZE}
    order by s.created_at ${direction}, s.session_id ${direction}`
  return { rows, stopped, isCut: rows.length < (rows[0]?.inPage ?? 0) }
}

interface Facet {
  readonly kind: string
  readonly value: string
}

const withinPeriod = (sql: Queryable, lead: string, { from, to }: SessionFilter) => sql`
  ${from === null ? sql`` : sql`and ${sql(lead)}.created_at >= ${from}`}
  ${to === null ? sql`` : sql`and ${sql(lead)}.created_at < ${to}`}`

/** Whether more is asked of the sessions of a facet, which may fit none of them. */
const isNarrowed = (
  { agent, environment, activity, status, workflowId, search }: SessionFilter,
  second: Facet | undefined,
) => second !== undefined || [agent, environment, activity, status, workflowId, search].some((asked) => asked !== null)

/** So many sessions of a facet are looked through for one page. */
const MOST_LOOKED_AT = 10_000

/** The last session that a page looks at. Null: it looks at all that are left. */
async function endOfLook(sql: Queryable, filter: SessionFilter, facet: Facet): Promise<PageEnd | null> {
  const { below, oldestFirst } = filter
  const [beyond, direction] = oldestFirst ? [sql`>`, sql`asc`] : [sql`<`, sql`desc`]
  const [end] = await sql<PageEnd[]>`
    select ${microseconds(sql, sql`created_at`)} as at, session_id as id from (
      select created_at, session_id from session_facets f
      where tenant_id = ${filter.tenantId} and kind = ${facet.kind} and value = ${facet.value}
        ${below === null ? sql`` : sql`and (created_at, session_id) ${beyond} ${pageEnd(sql, below)}`}
        ${withinPeriod(sql, 'f', filter)}
      order by created_at ${direction}, session_id ${direction} offset ${MOST_LOOKED_AT - 1} limit 1
    ) as last`
  return end ?? null
}

const withFacet = (sql: Queryable, tenantId: string, { kind, value }: Facet) => sql`
  and exists (
    select 1 from session_facets o
    where o.tenant_id = ${tenantId} and o.kind = ${kind} and o.value = ${value}
      and o.created_at = s.created_at and o.session_id = s.session_id
  )`

interface Found {
  /** Few enough ids begin with the text that all of them are looked up. */
  readonly isFew: boolean
  readonly isAgent: boolean
}

/**
 * What a text is the beginning of, and whether an agent has it as its name: the first name from there on, in the order of
 * their index. Asked for the name itself, PostgreSQL expects it in many sessions once it no longer plans for the text at hand
 * (after five searches of a connection), and reads them all where it is in none.
 */
async function look(sql: Queryable, tenantId: string, text: string): Promise<Found> {
  const [found] = await sql<Found[]>`
    select (
        select count(*) <= ${FEW} from (
          select 1 from sessions s where s.tenant_id = ${tenantId} and ${beginsWith(sql, text)} limit ${FEW + 1}
        ) as begins
      ) as is_few,
      coalesce((
        select agent = ${text} from sessions where tenant_id = ${tenantId} and agent >= ${text} order by agent limit 1
      ), false) as is_agent`
  return found ?? { isFew: true, isAgent: false }
}

/** Few ids are found by their index; where many begin so, or the agent exists, the list in its order soon meets enough. */
function foundBy(sql: Queryable, { tenantId }: SessionFilter, text: string, { isFew, isAgent }: Found) {
  // As an array, so that PostgreSQL, which cannot know how many they are, begins with them.
  const ids = sql`array(select s.session_id from sessions s where s.tenant_id = ${tenantId} and ${beginsWith(sql, text)})`
  const byId = isFew ? sql`s.session_id = any (${ids})` : sql`(${beginsWith(sql, text)})`
  return isAgent ? sql`and (s.agent = ${text} or ${byId})` : sql`and ${byId}`
}

const beginsWith = (sql: Queryable, text: string) =>
  sql`s.session_id ~>=~ ${text} and s.session_id ~<=~ ${`${text}\u{10ffff}`}`

/** So many take PostgreSQL some hundredths of a second, whatever the tenant has. */
const FEW = 20_000

export async function loadListedSession(
  sql: Queryable,
  tenantId: string,
  sessionId: string,
): Promise<ListedSession | undefined> {
  const [row] = await sql<ListedSession[]>`
    select ${columns(sql)} from sessions s ${joinHead(sql, tenantId)} ${READ_FACTS(sql)}
    where s.tenant_id = ${tenantId} and s.session_id = ${sessionId}`
  return row
}

const joinHead = (sql: Queryable, tenantId: string) => sql`
  join session_heads h on h.tenant_id = ${tenantId} and h.session_id = s.session_id`

/** All members at once: PostgreSQL reads a JSON from its beginning for each that is asked for by itself. */
const READ_FACTS = (sql: Queryable) => sql`
  cross join lateral json_to_record(h.facts::json) as f
    (shown json, "allowedCalls" int, "blockedCalls" int, "lastReason" text, "updatedAt" timestamptz)
  cross join lateral json_to_record(coalesce(f.shown, ${shownOfState(sql)})) as l
    (phase text, labels json, "stateVersion" bigint, "actualCost" text, "inDoubt" int, unresolved int)`

/** For a session that an earlier version wrote last: what \`facts\` has not yet. */
const shownOfState = (sql: Queryable) => sql`(
  select json_build_object('phase', s.state -> 'phase', 'labels', s.state -> 'labels', 'stateVersion', s.state -> 'stateVersion',
    'actualCost', s.state -> 'actualCost',
    'inDoubt', (select count(*) from json_array_elements(s.state #> '{open,calls}') c where c ->> 'state' = 'in_doubt'),
    'unresolved', (select count(*) from json_array_elements(s.state #> '{open,calls}') c where c ->> 'state' <> 'resolved'))
  from (select h.state::json as state offset 0) as s
)`

const columns = (sql: Queryable) => sql`
  s.session_id, s.agent, s.environment, s.status, ${activityOfRow(sql)} as activity, s.ended_at, l.phase, l.labels,
  l."stateVersion" as state_version, f."allowedCalls" as allowed_calls, f."blockedCalls" as blocked_calls,
  l."inDoubt" as in_doubt,
  case when s.status = 'ACTIVE' and ${activityOfRow(sql)} = 'running' then 0 else l.unresolved end as unanswered,
  f."lastReason" as last_reason, l."actualCost" as actual_cost, s.workflow_id, s.created_at,
  f."updatedAt" as updated_at, ${pageTime(sql, sql`s.created_at`)}`

/** Only the running ones need a bound of time: `activeSessions` counts them for every overview. */
const withActivity = (sql: Queryable, tenantId: string, wanted: SessionActivity) => {
  if (wanted === 'ended') return sql`and not ${mayGoOn(sql)}`
  const held = sql`exists (
    select 1 from session_heads h where h.tenant_id = ${tenantId} and h.session_id = s.session_id
      and h.lease_until > statement_timestamp())`
  return wanted === 'running'
    ? sql`and ${mayGoOn(sql)} and s.created_at >= ${daysAgo(sql, 1)} and ${held}`
    : sql`and ${mayGoOn(sql)} and not ${held}`
}

export interface Troubles {
  activeSessions: number
  callsInDoubt: number
  killed: number
  compromised: number
}

/** How many sessions run now, and how many that began since need attention. */
export async function countTroubles(
  sql: Queryable,
  { tenantId, since }: { tenantId: string; since: Date },
): Promise<Troubles> {
  const [row] = await sql<Troubles[]>`
    select
      (select count(*)::int from sessions s join session_heads h using (tenant_id, session_id)
        where s.tenant_id = ${tenantId} and s.created_at >= ${daysAgo(sql, 1)}
          and ${mayGoOn(sql)} and h.lease_until > statement_timestamp()) as active_sessions,
      (select coalesce(sum(l."inDoubt"), 0)::int from sessions s ${joinHead(sql, tenantId)} ${READ_FACTS(sql)}
        where s.tenant_id = ${tenantId} and s.status = 'RECOVERING') as calls_in_doubt,
      (select count(*)::int from sessions
        where tenant_id = ${tenantId} and status = 'KILLED' and created_at >= ${since}) as killed,
      (select count(*)::int from sessions
        where tenant_id = ${tenantId} and status = 'COMPROMISED' and created_at >= ${since}) as compromised`
  if (row === undefined) throw new Error('a count returned no row')
  return row
}
