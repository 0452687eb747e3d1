import type { JsonValue } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'

/** In `a.body`: the arguments of a proposal's calls, a line for each. Null if there is none, or no list. */
export const callLines = (sql: Queryable) => sql`
  (select string_agg(call::text, chr(10))
   from json_array_elements(case when json_typeof(a.body) = 'array' then a.body end) call)`

/** Of each call, as JSON. Null: none are stored. */
export type StoredArguments = readonly string[] | null

export const splitCalls = (lines: string | null): string[] => lines?.split('\n') ?? []

export async function loadArguments(
  sql: Queryable,
  { tenantId, sessionId }: { readonly tenantId: string; readonly sessionId: string },
  proposalId: string,
): Promise<StoredArguments> {
  const [row] = await sql<{ lines: string | null }[]>`
    select ${callLines(sql)} as lines from content a
    where a.tenant_id = ${tenantId} and a.session_id = ${sessionId} and a.kind = 'arguments' and a.ref = ${proposalId}`
  return row === undefined ? null : splitCalls(row.lines)
}

/** By the index of the call. What is no call was changed, and is left out. */
export function readArguments(calls: readonly string[]): Map<number, JsonValue> {
  const read = new Map<number, JsonValue>()
  for (const text of calls) {
    const call = readCall(text)
    if (call !== null && !read.has(call.index)) read.set(call.index, call.arguments)
  }
  return read
}

function readCall(text: string): { index: number; arguments: JsonValue } | null {
  try {
    const { index, arguments: value } = JSON.parse(text)
    return typeof index === 'number' && value !== undefined ? { index, arguments: value } : null
  } catch {
    return null
  }
}
