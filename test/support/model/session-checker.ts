import { applyEvent, canonicalJson, initialState, type Plan, preparePlan, verifyExport } from '@countersign/engine'
import type { JsonValue, LedgerExport, SessionEvent } from '@countersign/protocol'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'

/** What must hold of every session at any time. Returns what does not, in words; nothing when all holds. */
export async function checkSession(sql: Sql, sessionId: string, exported: LedgerExport): Promise<string[]> {
  const problems: string[] = []
  const verified = verifyExport(exported)
  if (!verified.ok) problems.push(`broken at event ${verified.brokenAt}: ${verified.problem}`)
  const prepared = preparePlan(exported.compiled_session)
  if (!prepared.ok) return [...problems, 'the plan cannot be prepared']
  const bindings = await loadBindings(sql, sessionId)
  problems.push(...replay(exported, prepared.plan, bindings))
  problems.push(...(await checkRecords(sql, sessionId, exported)))
  return problems
}

interface Binding {
  preparedRequestId: string
  stateVersion: number
  controlRevision: number
  fence: number
  digest: string
  consumedAt: Date | null
}

/** Each request lies in one place only. */
async function loadBindings(sql: Sql, sessionId: string): Promise<Map<string, Binding>> {
  const rows = await sql<Binding[]>`
    select prepared_request_id, (request #>> '{bound,state_version}')::bigint as state_version,
      (request #>> '{bound,control_revision}')::bigint as control_revision, (request #>> '{bound,fence}')::bigint as fence,
      request ->> 'digest' as digest, consumed_at
    from prepared_requests where session_id = ${sessionId}`
  const bindings = new Map(rows.map((row) => [row.preparedRequestId, row]))
  if (bindings.size !== rows.length) throw new Error(`a prepared request of ${sessionId} lies in two places`)
  return bindings
}

/** Walks the events: versions, bindings, labels, one receipt per call, nothing allowed after a stop. */
function replay(exported: LedgerExport, plan: Plan, bindings: ReadonlyMap<string, Binding>): string[] {
  const problems: string[] = []
  const events = exported.events as unknown as (SessionEvent & { seq: number })[]
  const [first, ...rest] = events
  if (first?.type !== 'created') return ['the first event is not `created`']
  let state = initialState(plan, first)
  const receipted = new Set<string>()
  const used = new Set<string>()
  for (const event of rest) {
    const before = state
    state = applyEvent(before, event, plan)
    const say = (problem: string) => problems.push(`event ${event.seq}: ${problem}`)
    if (state.stateVersion !== before.stateVersion && state.stateVersion !== before.stateVersion + 1)
      say('a version gap')
    for (const label of before.labels) if (!state.labels.includes(label)) say(`the label ${label} is gone`)
    if (before.status === 'KILLED' && state.status !== 'KILLED') say('a killed session lives')
    if (state.fence < before.fence) say('the fence fell')
    if (event.type === 'proposal') {
      const binding = bindings.get(event.body.prepared_request_id)
      if (before.status !== 'ACTIVE') say(`a proposal was accepted on a session that is ${before.status}`)
      if (used.has(event.body.prepared_request_id)) say('a prepared request was used twice')
      used.add(event.body.prepared_request_id)
      if (binding === undefined) say('the prepared request is unknown')
      else if (
        binding.stateVersion !== before.stateVersion ||
        binding.controlRevision !== before.controlRevision ||
        binding.fence !== before.fence
      ) {
        say('the proposal was accepted on a stale binding')
      } else if (binding.digest !== event.body.prepared_digest) say('the prepared request has another digest')
    }
    if (event.type === 'receipts') {
      for (const receipt of event.body.receipts) {
        if (receipt.late) continue
        if (receipted.has(receipt.pending_call_id)) say(`a second receipt for ${receipt.pending_call_id}`)
        receipted.add(receipt.pending_call_id)
      }
      if (event.body.committed !== state.stateVersion > before.stateVersion) say('`committed` is not what happened')
    }
  }
  for (const { preparedRequestId, consumedAt } of bindings.values()) {
    if ((consumedAt !== null) !== used.has(preparedRequestId)) problems.push(`${preparedRequestId}: used or not?`)
  }
  if (canonicalJson(state as unknown as JsonValue) !== canonicalJson(exported.state as JsonValue)) {
    problems.push('the fold is not the snapshot')
  }
  return problems
}

/** The records beside the ledger say the same as the ledger. */
async function checkRecords(sql: Sql, sessionId: string, exported: LedgerExport): Promise<string[]> {
  const problems: string[] = []
  const state = exported.state as { open: { calls: { pending_call_id: string; state: string }[] } | null }
  const waiting = new Set(
    (state.open?.calls ?? []).filter((call) => call.state !== 'resolved').map((call) => call.pending_call_id),
  )
  const calls = await sql<{ pendingCallId: string; state: string; receipts: number }[]>`
    select p.pending_call_id, p.state,
      (select count(*) from receipts r where r.session_id = p.session_id and r.pending_call_id = p.pending_call_id) as receipts
    from pending_calls p where p.session_id = ${sessionId}`
  for (const call of calls) {
    const isResolved = call.state === 'resolved'
    if (isResolved === waiting.has(call.pendingCallId)) problems.push(`${call.pendingCallId}: resolved or waiting?`)
    if (call.receipts !== (isResolved ? 1 : 0)) problems.push(`${call.pendingCallId}: ${call.receipts} receipts`)
  }
  const [row] = await sql<{ stateVersion: number; controlRevision: number; status: string; ledgerSeq: number }[]>`
    select (state::json ->> 'stateVersion')::bigint as state_version,
      (state::json ->> 'controlRevision')::bigint as control_revision, status,
      (facts::json #>> '{ledger,seq}')::bigint as ledger_seq
    from sessions join session_heads using (tenant_id, session_id) where session_id = ${sessionId}`
  const stored = exported.state as unknown as { stateVersion: number; controlRevision: number; status: string }
  if (row?.stateVersion !== stored.stateVersion || row.controlRevision !== stored.controlRevision) {
    problems.push('the columns are not the state')
  }
  if (row?.status !== stored.status || row.ledgerSeq !== exported.head.seq)
    problems.push('the columns are not the state')
  return problems
}
