import type { Decision } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'
import type { PreparedRequest } from './session-row.js'
import { callLines, type StoredArguments, splitCalls } from './stored-arguments.js'

type Of = { readonly tenantId: string; readonly sessionId: string }

/** What is stored of a proposal outside of the chain. */
export interface StoredTurn {
  /** Of its event. */
  readonly seq: number
  readonly request: PreparedRequest
  readonly model: string | null
  /** Without content. */
  readonly decisions: Decision[]
  /** With the values that were found. Null where the capture level stores none, or they were erased. */
  readonly fullDecisions: Decision[] | null
  /** Null like the decisions. */
  readonly arguments: StoredArguments
}

export type StoredDecisions = Pick<StoredTurn, 'decisions' | 'fullDecisions'>

/** Turns, as many as fit. */
export interface TurnPage {
  readonly turns: ReadonlyMap<number, StoredTurn>
  /** The event of the first turn that did not fit. Null: all that are stored are here. */
  readonly cutAt: number | null
}

/** The turns of proposals by the numbers of their events, as many as fit into `maxBytes`; one in any case. */
export async function loadTurns(
  sql: Queryable,
  { tenantId, sessionId }: Of,
  seqs: readonly number[],
  maxBytes: number,
): Promise<TurnPage> {
  if (seqs.length === 0) return { turns: new Map(), cutAt: null }
  const rows = await sql<(TurnRow | { readonly seq: number; readonly request: null })[]>`
    with sized as (
      select p.seq, p.request, p.model, p.decisions, d.body as full_decisions, a.body,
        sum(z.size) over (order by p.seq) - z.size < ${maxBytes} as fits
      from proposals p
      left join content d on d.tenant_id = ${tenantId} and d.session_id = ${sessionId} and d.kind = 'decisions'
        and d.ref = p.proposal_id
      left join content a on a.tenant_id = ${tenantId} and a.session_id = ${sessionId} and a.kind = 'arguments'
        and a.ref = p.proposal_id
      cross join lateral (
        select coalesce(octet_length(d.body::text), 0) + coalesce(octet_length(a.body::text), 0)
          + octet_length(p.request::text) + octet_length(p.decisions::text) as size
      ) z
      where p.tenant_id = ${tenantId} and p.session_id = ${sessionId}
        and p.seq = any (${seqs.map(String)}::text[]::bigint[])
    )
    (select seq, request, model, decisions, full_decisions, body is not null as has_arguments, ${callLines(sql)} as lines
    from sized a where fits)
    union all
    (select min(seq), null, null, null, null, null, null from sized where not fits having count(*) > 0)`
  const fitting = rows.filter((row): row is TurnRow => row.request !== null)
  const cut = rows.find(({ request }) => request === null)
  return { turns: new Map(fitting.map((row) => [row.seq, toTurn(row)])), cutAt: cut?.seq ?? null }
}

type TurnRow = Omit<StoredTurn, 'arguments'> & { readonly hasArguments: boolean; readonly lines: string | null }

const toTurn = ({ hasArguments, lines, ...turn }: TurnRow): StoredTurn => ({
  ...turn,
  arguments: hasArguments ? splitCalls(lines) : null,
})

/** The decisions of one proposal, without the rest of its turn. */
export async function loadDecisions(
  sql: Queryable,
  { tenantId, sessionId }: Of,
  seq: number,
): Promise<StoredDecisions | null> {
  const [row] = await sql<StoredDecisions[]>`
    select p.decisions, d.body as full_decisions
    from proposals p
    left join content d on d.tenant_id = ${tenantId} and d.session_id = ${sessionId} and d.kind = 'decisions'
      and d.ref = p.proposal_id
    where p.tenant_id = ${tenantId} and p.session_id = ${sessionId} and p.seq = ${String(seq)}::text::bigint`
  return row ?? null
}

/** What is stored of a receipt beside its event. */
export interface StoredReceipt {
  /** Of its event. */
  readonly seq: number
  readonly approvals: { checkpoint_id: string; decided_by?: string; decided_at?: string }[] | null
  /** Why each checkpoint was decided so; null where the capture level stores none. */
  readonly approvalReasons: { checkpoint_id: string; reason: string }[] | null
}

/** By pending call. */
export async function loadReceipts(
  sql: Queryable,
  { tenantId, sessionId }: Of,
  pendingCallIds: readonly string[],
): Promise<Map<string, StoredReceipt>> {
  if (pendingCallIds.length === 0) return new Map()
  const rows = await sql<(StoredReceipt & { pendingCallId: string })[]>`
    select r.pending_call_id, r.seq, r.record::json -> 'approvals' as approvals, c.body as approval_reasons
    from receipts r
    left join content c on c.tenant_id = ${tenantId} and c.session_id = ${sessionId} and c.kind = 'approval'
      and c.ref = r.pending_call_id
    where r.tenant_id = ${tenantId} and r.session_id = ${sessionId}
      and r.pending_call_id = any (${[...pendingCallIds]}::text[])`
  return new Map(rows.map((row) => [row.pendingCallId, row]))
}
