import type { Environment, JsonObject } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'

/** Whose tools are pinned. */
export interface PinScope {
  readonly tenantId: string
  readonly agent: string
  readonly environment: Environment
  readonly server: string
}

export interface SeenTools {
  readonly count: number
  /** A list of `name`, `hash` and `definition` as JSON: it may have a megabyte. */
  readonly written: string
}

export interface ToolPinRow {
  readonly agent: string
  readonly environment: Environment
  readonly server: string
  readonly toolName: string
  readonly hash: string
  readonly definition: JsonObject
  readonly pinnedAt: Date
  readonly approvedBy: string | null
  readonly changedHash: string | null
  readonly changedDefinition: JsonObject | null
  readonly changedAt: Date | null
}

/** Pins what is new, as far as there is room, and notes what differs. */
export async function pinSeenTools(
  sql: Queryable,
  { tenantId, agent, environment, server }: PinScope,
  tools: SeenTools,
  { at, most }: { readonly at: Date; readonly most: number },
): Promise<void> {
  await sql`
    insert into tool_pins (tenant_id, agent, environment, server, tool_name, hash, definition, pinned_at)
    select ${tenantId}, ${agent}, ${environment}, ${server}, t.name, t.hash, t.definition, ${at}
    from json_to_recordset(${tools.written}::text::json) as t (name text, hash text, definition json)
    where (select count(*) from tool_pins p
      where p.tenant_id = ${tenantId} and p.agent = ${agent} and p.environment = ${environment} and p.server = ${server}
    ) + ${tools.count} <= ${most} or exists (select from tool_pins p
      where p.tenant_id = ${tenantId} and p.agent = ${agent} and p.environment = ${environment} and p.server = ${server}
      and p.tool_name = t.name)
    order by t.name
    on conflict (tenant_id, agent, environment, server, tool_name) do update
    set changed_hash = excluded.hash, changed_definition = excluded.definition, changed_at = excluded.pinned_at
    where tool_pins.hash <> excluded.hash and tool_pins.changed_hash is distinct from excluded.hash`
}

/** The hashes of the pinned definitions, by the names of the tools. */
export async function findPinnedHashes(
  sql: Queryable,
  { tenantId, agent, environment, server }: PinScope,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await sql<{ toolName: string; hash: string }[]>`
    select tool_name, hash from tool_pins
    where tenant_id = ${tenantId} and agent = ${agent} and environment = ${environment} and server = ${server}
    and tool_name = any (${[...names]})`
  return new Map(rows.map(({ toolName, hash }) => [toolName, hash]))
}

/** Characters of the definitions that are shown at once, and of one pin more. */
const SHOWN_SIZE = 1024 * 1024

/** Those that wait for a person, the newest first. Fewer than the limit where they are long. */
export function listChangedPins(sql: Queryable, tenantId: string, limit: number): Promise<ToolPinRow[]> {
  return sql<ToolPinRow[]>`
    select agent, environment, server, tool_name, hash, definition, pinned_at, approved_by,
      changed_hash, changed_definition, changed_at
    from (
      select *, sum(size) over (order by changed_at desc, agent, environment, server, tool_name) - size as size_before
      from (
        select *, length(definition::text) + length(changed_definition::text) as size from tool_pins
        where tenant_id = ${tenantId} and changed_hash is not null
        order by changed_at desc, agent, environment, server, tool_name limit ${limit}
      ) newest
    ) measured
    where size_before < ${SHOWN_SIZE}
    order by changed_at desc, agent, environment, server, tool_name`
}

/** Null where this difference does not wait (any more). */
export async function approvePinnedChange(
  sql: Queryable,
  { tenantId, agent, environment, server }: PinScope,
  approval: { readonly toolName: string; readonly hash: string; readonly by: string; readonly at: Date },
): Promise<ToolPinRow | null> {
  const [row] = await sql<ToolPinRow[]>`
    update tool_pins set hash = changed_hash, definition = changed_definition, pinned_at = ${approval.at},
      approved_by = ${approval.by}, changed_hash = null, changed_definition = null, changed_at = null
    where tenant_id = ${tenantId} and agent = ${agent} and environment = ${environment} and server = ${server}
    and tool_name = ${approval.toolName} and changed_hash = ${approval.hash}
    returning agent, environment, server, tool_name, hash, definition, pinned_at, approved_by,
      changed_hash, changed_definition, changed_at`
  return row ?? null
}
