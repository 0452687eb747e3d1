import type { CaptureItem, CaptureLevel, JsonValue } from '@countersign/protocol'
import type { PageEnd } from '../../base/time-cursor.js'
import { databaseFunction } from '../../postgres/database-function.js'
import type { Queryable } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'
import { type FoundPage, microseconds, pageEnd, pageTime } from '../page-time.js'

export interface NewCapture {
  captureId: string
  agent: string
  conversationId: string
  at: string
  captureLevel: CaptureLevel
  toolNames: readonly string[]
  decision: 'allow' | 'block' | null
  /** Made by the service of a session of its own, so that receipts say what became of the calls. */
  governed: boolean
  item: StoredCapture
}

/** A capture as it is stored: stripped to its level, and without the schemas of tools. */
export type StoredCapture = Omit<CaptureItem, 'request'> & {
  request: { messages?: JsonValue[]; tools: string[]; tool_choice?: JsonValue }
}

/** Captures as `store_captures` wants them. */
export interface CaptureTexts {
  /** One JSON array of their columns. */
  readonly rows: string
  /** A line each: JSON has no line breaks, and PostgreSQL need not look for where an item ends. */
  readonly items: string
}

export const captureTexts = (captures: readonly NewCapture[]): CaptureTexts => ({
  rows: JSON.stringify(captures.map(toRow)),
  items: captures.map(({ item }) => JSON.stringify(item)).join('\n'),
})

/** Stores a batch. Returns how many were new; the others had been sent before, or are of sessions that were erased. */
export function insertCaptures(
  sql: Queryable,
  tenantId: string,
  { rows, items }: CaptureTexts,
  { salts, governed }: { readonly salts: ReadonlyMap<string, string>; readonly governed: boolean },
): Promise<number> {
  const agents = [...salts].map(([agent, salt]) => ({ agent, salt }))
  return storeCaptures(sql, { tenant: tenantId, captures: rows, items, salts: JSON.stringify(agents), governed })
}

export const storeCaptures = databaseFunction(
  'store_captures',
  { tenant: 'text', captures: 'json', items: 'text', salts: 'json', governed: 'boolean' },
  'integer',
)

const toRow = (capture: NewCapture) => ({
  capture_id: capture.captureId,
  agent: capture.agent,
  conversation_id: capture.conversationId,
  at: capture.at,
  capture_level: capture.captureLevel,
  tool_names: capture.toolNames,
  decision: capture.decision,
  governed: capture.governed,
  calls: capture.item.response.tool_calls.length,
  covered: coveredCalls(capture.item),
})

/** Calls on which a contract decided in the program. A verdict without force protects from nothing. */
function coveredCalls({ response, validation }: StoredCapture): number {
  if (validation?.mode !== 'enforce') return 0
  const judged = validation.calls.filter(({ reasons }) => !reasons.includes('unmatched_tool_blocked'))
  return Math.min(response.tool_calls.length, judged.length)
}

/** Remembers the tools that an agent is offered, with the newest schema of each. */
export async function storeOfferedTools(
  sql: Queryable,
  tenantId: string,
  tools: readonly { readonly row: string }[],
): Promise<void> {
  if (tools.length === 0) return
  const rows = `[${tools.map(({ row }) => row).join(',')}]`
  await sql`
    insert into offered_tools as known (tenant_id, agent, tool_name, schema, seen_at)
    select ${tenantId}, t.agent, t.tool_name, t.schema, clock_timestamp()
    from json_to_recordset(${rows}::text::json) as t (agent text, tool_name text, schema json)
    on conflict (tenant_id, agent, tool_name) do update set schema = excluded.schema, seen_at = excluded.seen_at
    where excluded.schema is not null and known.schema::text is distinct from excluded.schema::text`
}

export interface CaptureRow {
  captureId: string
  agent: string
  conversationId: string
  at: Date
  toolNames: string[]
  captureLevel: string
  decision: 'allow' | 'block' | null
  calls: StoredCapture['response']['tool_calls']
  pageAt: string
  /** How many there are up to the limit, whether they came or not. */
  inPage: number
}

/** Characters of the captures of one page, and one more capture. */
const PAGE_SIZE = 1024 * 1024

/** So many are looked through for those of a tool: no index finds them. */
const MOST_LOOKED_AT = 20_000

interface CapturesPage {
  readonly tenantId: string
  readonly agent: string | null
  readonly tool: string | null
  readonly below: PageEnd | null
  readonly limit: number
}

/** Newest first, below the cursor. Fewer than the limit where they are long, or where few are of the tool. */
export async function listCaptures(sql: Queryable, page: CapturesPage): Promise<FoundPage<CaptureRow>> {
  const stopped = page.tool === null ? null : await endOfLook(sql, page)
  const rows = await sql<CaptureRow[]>`
    select capture_id, agent, conversation_id, at, tool_names, capture_level, decision,
      item::json #> '{response,tool_calls}' as calls, page_at, in_page::int
    from (
      select *, sum(own) over (order by at desc, capture_id desc) - own as size_before, count(*) over () as in_page
      from (
        select capture_id, agent, conversation_id, at, tool_names, capture_level, decision, item,
          coalesce(item_size, length(item::text)) as own, ${pageTime(sql, sql`at`)}
        from captures
        where ${belowCursor(sql, page)}
          ${page.tool === null ? sql`` : sql`and ${page.tool} = any (tool_names)`}
          ${stopped === null ? sql`` : sql`and (at, capture_id) >= ${pageEnd(sql, stopped)}`}
        order by at desc, capture_id desc limit ${page.limit}
      ) newest
    ) measured
    where size_before < ${PAGE_SIZE}
    order by at desc, capture_id desc`
  return { rows, stopped }
}

/** The last capture that a page looks at. Null: it looks at all that are left. */
async function endOfLook(sql: Queryable, page: CapturesPage): Promise<PageEnd | null> {
  const [end] = await sql<PageEnd[]>`
    select ${microseconds(sql, sql`at`)} as at, capture_id as id from (
      select at, capture_id from captures where ${belowCursor(sql, page)}
      order by at desc, capture_id desc offset ${MOST_LOOKED_AT - 1} limit 1
    ) as last`
  return end ?? null
}

const belowCursor = (sql: Queryable, { tenantId, agent, below }: CapturesPage) => sql`tenant_id = ${tenantId}
  ${agent === null ? sql`` : sql`and agent = ${agent}`}
  ${below === null ? sql`` : sql`and (at, capture_id) < ${pageEnd(sql, below)}`}`

/** The newest captures of an agent that hold arguments, oldest first, as JSON: so many, or so many characters. */
export async function loadNewestCaptures(
  sql: Queryable,
  { tenantId, agent }: { readonly tenantId: string; readonly agent: string },
  most: { readonly captures: number; readonly size: number },
): Promise<string[]> {
  const rows = await sql<{ item: string }[]>`
    select item::text as item from (
      select *, sum(own) over (order by at desc, capture_id desc) as size
      from (
        select capture_id, at, item, coalesce(item_size, length(item::text)) as own
        from captures
        where tenant_id = ${tenantId} and agent = ${agent} and capture_level <> 'metadata'
        order by at desc, capture_id desc limit ${most.captures}
      ) newest
    ) measured
    where size <= ${most.size}
    order by at, capture_id`
  return rows.map(({ item }) => item)
}

/** The conversations of an agent that hold arguments, the one captured last first. */
export async function listConversations(
  sql: Queryable,
  where: { tenantId: string; agent: string; since: Date | null; limit: number },
): Promise<string[]> {
  const rows = await sql<{ conversationId: string }[]>`
    select conversation_id from captures
    where tenant_id = ${where.tenantId} and agent = ${where.agent} and capture_level <> 'metadata'
      ${where.since === null ? sql`` : sql`and at >= ${where.since}`}
    group by conversation_id order by max(at) desc, conversation_id desc limit ${where.limit}`
  return rows.map(({ conversationId }) => conversationId)
}

interface Conversations {
  readonly tenantId: string
  readonly agent: string
  readonly ids: readonly string[]
}

/** How many characters each conversation has. One that was deleted meanwhile has none. */
export async function measureConversations(
  sql: Queryable,
  { tenantId, agent, ids }: Conversations,
): Promise<Map<string, number>> {
  const rows = await sql<{ conversationId: string; size: number }[]>`
    select conversation_id, sum(coalesce(item_size, length(item::text)))::float8 as size from captures
    where tenant_id = ${tenantId} and agent = ${agent} and capture_level <> 'metadata'
      and conversation_id = any (${[...ids]})
    group by conversation_id`
  return new Map(rows.map(({ conversationId, size }) => [conversationId, size]))
}

/**
 * Conversations, each with its captures in order as JSON, until they come to `size` characters. One that was deleted
 * meanwhile is left out.
 */
export async function loadConversations(
  sql: Queryable,
  { tenantId, agent, ids, size }: Conversations & { readonly size: number },
): Promise<{ conversationId: string; items: string[] }[]> {
  const rows = await sql<{ conversationId: string; item: string }[]>`
    select conversation_id, item::text from (
      select conversation_id, item, at, capture_id, own,
        sum(own) over (partition by conversation_id order by at, capture_id) as so_far
      from (
        select conversation_id, item, at, capture_id, coalesce(item_size, length(item::text)) as own from captures
        where tenant_id = ${tenantId} and agent = ${agent} and capture_level <> 'metadata'
          and conversation_id = any (${[...ids]})
      ) sized
    ) measured
    where so_far - own < ${size}
    order by conversation_id, at, capture_id`
  const found = new Map<string, string[]>()
  for (const { conversationId, item } of rows) {
    const items = found.get(conversationId)
    if (items === undefined) found.set(conversationId, [item])
    else items.push(item)
  }
  return ids.flatMap((conversationId) => {
    const items = found.get(conversationId)
    return items === undefined ? [] : [{ conversationId, items }]
  })
}

/** Removes captures that came more than `days` ago, some at once. What was learned from them stays. */
export function deleteOldCaptures(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(sql, 'captures', sql`received_at < ${daysAgo(sql, days)}`, limit)
}
