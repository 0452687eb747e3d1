import type { Queryable, Tx } from '../../postgres/sql.js'

export interface LearnedTool {
  toolName: string
  /** JSON. Null where those of tools that are called more are too long already. */
  summary: string | null
  judged: number
  passed: number
  updatedAt: Date
}

/** Characters of an agent's summaries that are read at once, and that learning means to keep: 32 MB beyond Latin-1. */
export const SUMMARIES_SIZE = 16 * 1024 * 1024

/** What was learned of an agent's tools: the summaries of those that are called most, and that there are others. */
export function loadLearnedTools(sql: Queryable, where: { tenantId: string; agent: string }): Promise<LearnedTool[]> {
  return sql<LearnedTool[]>`
    select tool_name, case when size <= ${SUMMARIES_SIZE} then summary::text end as summary,
      judged::int, passed::int, updated_at
    from (
      select *, sum(length(summary::text)) over (order by samples desc, tool_name) as size from learned_tools
      where tenant_id = ${where.tenantId} and agent = ${where.agent}
    ) measured
    order by tool_name`
}

/** How often each tool was called that an agent called or was offered. */
export function listKnownTools(
  sql: Queryable,
  tenantId: string,
  agent: string,
): Promise<{ toolName: string; samples: number }[]> {
  return sql<{ toolName: string; samples: number }[]>`
    select tool_name, max(samples)::int as samples from (
      select tool_name, samples from learned_tools where tenant_id = ${tenantId} and agent = ${agent}
      union all (
        select tool_name, 0 from offered_tools where tenant_id = ${tenantId} and agent = ${agent}
        order by seen_at desc, tool_name limit ${MAX_OFFERED})
    ) known
    group by tool_name order by tool_name collate "C"`
}

/** Of tools the first, and as many more as what was learned of them comes to `size` characters; null of new ones. */
export function loadSummaries(
  sql: Queryable,
  where: { tenantId: string; agent: string; tools: readonly string[]; size: number },
): Promise<{ toolName: string; summary: string | null }[]> {
  return sql<{ toolName: string; summary: string | null }[]>`
    select tool_name, summary::text from (
      select t.tool_name, l.summary, t.at, sum(coalesce(length(l.summary::text), 0)) over (order by t.at) as size
      from unnest(${[...where.tools]}::text[]) with ordinality t (tool_name, at)
      left join learned_tools l
        on l.tenant_id = ${where.tenantId} and l.agent = ${where.agent} and l.tool_name = t.tool_name
    ) measured
    where size <= ${where.size} or at = 1
    order by at`
}

/** Tools of an agent of which something was learned, and how many of `tools` are among them. */
export async function countLearnedTools(
  sql: Queryable,
  { tenantId, agent }: { tenantId: string; agent: string },
  tools: readonly string[],
): Promise<{ inAll: number; ofThese: number }> {
  const [row] = await sql<{ inAll: number; ofThese: number }[]>`
    select count(*)::int as in_all, (count(*) filter (where tool_name = any (${[...tools]})))::int as of_these
    from learned_tools where tenant_id = ${tenantId} and agent = ${agent}`
  return row ?? { inAll: 0, ofThese: 0 }
}

/** What changes about a tool. The summary is JSON. */
export interface LearnedToolChange {
  readonly toolName: string
  readonly summary: string
  readonly samples: number
  readonly judged: number
  readonly passed: number
}

/** Writes summaries whole, while no other instance can learn about the agent, and adds to the counts of judged calls. */
export async function saveLearnedTools(
  tx: Tx,
  where: { tenantId: string; agent: string },
  changes: readonly LearnedToolChange[],
): Promise<void> {
  const rows = changes.map(({ toolName, samples, judged, passed }) => ({
    tool_name: toolName,
    samples,
    judged,
    passed,
  }))
  // A line each: JSON has no line breaks, and a summary need not be parsed on its way.
  const summaries = changes.map(({ summary }) => summary).join('\n')
  await tx`
    insert into learned_tools as known (tenant_id, agent, tool_name, summary, samples, judged, passed, updated_at)
    select ${where.tenantId}, ${where.agent}, t.tool_name, t.summary::json, t.samples, t.judged, t.passed,
      clock_timestamp()
    from rows from (
      json_to_recordset(${JSON.stringify(rows)}::text::json) as (
        tool_name text, samples bigint, judged bigint, passed bigint),
      string_to_table(${summaries}::text, chr(10))
    ) as t (tool_name, samples, judged, passed, summary)
    on conflict (tenant_id, agent, tool_name) do update set
      summary = excluded.summary, samples = excluded.samples, updated_at = excluded.updated_at,
      judged = known.judged + excluded.judged, passed = known.passed + excluded.passed`
}

/** Agents that were ever observed. */
export async function listLearnedAgents(
  sql: Queryable,
  tenantId: string,
  agent: string | null,
): Promise<{ agent: string; salt: string }[]> {
  return sql<{ agent: string; salt: string }[]>`
    select agent, salt from learned_agents
    where tenant_id = ${tenantId} ${agent === null ? sql`` : sql`and agent = ${agent}`}
    order by agent limit 200`
}

/** As many as can be learned of, the newest. */
const MAX_OFFERED = 1_024
/** Characters of their schemas together. */
const OFFERED_SIZE = 8 * 1024 * 1024

export interface StoredOffer {
  toolName: string
  /** JSON. Null where none came along, or those of newer tools are too long already. */
  schema: string | null
}

export function loadOfferedTools(sql: Queryable, tenantId: string, agent: string): Promise<StoredOffer[]> {
  return sql<StoredOffer[]>`
    select tool_name, case when size <= ${OFFERED_SIZE} then schema end as schema from (
      select tool_name, schema, seen_at, sum(coalesce(length(schema), 0)) over (order by seen_at desc, tool_name) as size
      from (
        select tool_name, schema::text, seen_at from offered_tools
        where tenant_id = ${tenantId} and agent = ${agent}
        order by seen_at desc, tool_name limit ${MAX_OFFERED}
      ) newest
    ) measured
    order by seen_at desc, tool_name`
}

export interface CustomerContract {
  toolName: string
  file: string
  text: string
}

/** More of them fit into no plan. */
const MAX_WRITTEN = 1_024
const WRITTEN_SIZE = 4 * 1024 * 1024

/** Of each tool what was written last, as much as plans can have. */
export function loadCustomerContracts(sql: Queryable, tenantId: string, agent: string): Promise<CustomerContract[]> {
  return sql<CustomerContract[]>`
    select tool_name, file, text from (
      select *, sum(length(text)) over (order by written_at desc, tool_name) as size from (
        select * from (
          select distinct on (tool_name) tool_name, file, text, written_at from customer_contracts
          where tenant_id = ${tenantId} and agent = ${agent}
          order by tool_name, written_at desc, plan_id desc
        ) last
        order by written_at desc, tool_name limit ${MAX_WRITTEN}
      ) newest
    ) measured
    where size <= ${WRITTEN_SIZE}
    order by tool_name`
}

/** What people wrote in one plan. */
export interface PlanContracts {
  tenantId: string
  agent: string
  planId: string
}

/** Stores what a person wrote in a plan. From now on it is used in place of what is learned. */
export async function storeCustomerContracts(
  tx: Tx,
  where: PlanContracts & { by: string | null },
  contracts: readonly CustomerContract[],
): Promise<void> {
  await dropCustomerContracts(tx, where)
  if (contracts.length === 0) return
  const rows = contracts.map(({ toolName, file, text }) => ({ tool_name: toolName, file, text }))
  await tx`
    insert into customer_contracts (tenant_id, agent, tool_name, plan_id, file, text, written_at, written_by)
    select ${where.tenantId}, ${where.agent}, c.tool_name, ${where.planId}, c.file, c.text, clock_timestamp(), ${where.by}
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as c (tool_name text, file text, text text)`
}

/** Forgets what came with a plan: what was written before it counts again. */
export async function dropCustomerContracts(sql: Queryable, { tenantId, agent, planId }: PlanContracts): Promise<void> {
  await sql`
    delete from customer_contracts where tenant_id = ${tenantId} and agent = ${agent} and plan_id = ${planId}`
}

/** Forgets what was written before an approved plan's contracts: these cannot be rejected any more. */
export async function dropEarlierContracts(sql: Queryable, { tenantId, agent, planId }: PlanContracts): Promise<void> {
  await sql`
    delete from customer_contracts earlier using customer_contracts approved
    where approved.tenant_id = ${tenantId} and approved.agent = ${agent} and approved.plan_id = ${planId}
      and earlier.tenant_id = ${tenantId} and earlier.agent = ${agent} and earlier.tool_name = approved.tool_name
      and (earlier.written_at, earlier.plan_id) < (approved.written_at, approved.plan_id)`
}
