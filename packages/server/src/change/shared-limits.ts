import {
  bucketAt,
  bucketEndMs,
  type CountChange,
  type LimitParty,
  lastPastBucket,
  type Plan,
  type PreparedSharedLimit,
  principalKey,
  type ReadResponse,
  releasedDraws,
  type SharedCounts,
  sha256Hex,
  sharedDraws,
  type Verdict,
} from '@countersign/engine'
import type { LedgerBody } from '@countersign/protocol'
import type { SessionRow } from '../store/sessions/session-row.js'
import { loadCounts, type NewCount } from '../store/sessions/shared-counts.js'
import type { StickyLabels } from '../store/sessions/sticky-labels.js'
import type { LoadedSession } from './change-session.js'

/** What is used of the shared limits that a turn depends on. `response` is null before there is one. */
export async function loadSharedCounts(
  { session, plan, query }: LoadedSession,
  response: ReadResponse | null,
): Promise<SharedCounts> {
  const { fixed } = session
  const counts = { salt: saltOf(session), party: partyOf(session) }
  const wanted = sharedDraws(plan, counts, response).map(({ limit, id }) => ({ name: limit.name, id }))
  const used = wanted.length === 0 ? new Map() : await query((sql) => loadCounts(sql, fixed.tenantId, wanted))
  return { ...counts, used: (id) => used.get(id) ?? [] }
}

/** A session whose plan shares limits was created with a salt. */
function saltOf({ fixed }: SessionRow): string {
  if (fixed.limitSalt === null) throw new Error('the session has no salt for shared limits')
  return fixed.limitSalt
}

export const partyOf = ({ fixed, head }: SessionRow): LimitParty => ({
  principal: fixed.principal,
  agent: head.state.agent,
  workflowId: fixed.workflowId,
})

/** What a proposal takes, in the write that registers its calls. Undefined: nothing. */
export function countsOfProposal({ now }: SessionRow, { draws }: Verdict): NewCount[] | undefined {
  if (draws.length === 0) return undefined
  const nowMs = now.getTime()
  return draws.map(({ limit, id, amount, guarded }) =>
    newCount(limit, { limit: limit.name, id, amount, bucket: bucketAt(limit, nowMs) }, nowMs, guarded),
  )
}

/** What receipts give back, in the write that records them. Undefined: nothing. */
export function countsOfReceipts(
  { session: { head, now }, plan }: Pick<LoadedSession, 'session' | 'plan'>,
  event: LedgerBody<'receipts'>,
): NewCount[] | undefined {
  if (plan.shared === null) return undefined
  const released = releasedDraws(plan, head.state, event)
  if (released.length === 0) return undefined
  const { all } = plan.shared
  return released.flatMap((change) => {
    const limit = all.find(({ name }) => name === change.limit)
    return limit === undefined ? [] : [newCount(limit, change, now.getTime(), false)]
  })
}

const newCount = (
  limit: PreparedSharedLimit,
  { id, bucket, amount }: CountChange,
  nowMs: number,
  guarded: boolean,
): NewCount => ({
  name: limit.name,
  id,
  bucket,
  amount,
  bound: guarded ? limit.most : null,
  past: lastPastBucket(limit, nowMs),
  expires_at: new Date(bucketEndMs(limit, bucket)).toISOString(),
  per: limit.per,
  counts: limit.counts,
  time_window: limit.definition.window,
  most: limit.most,
})

/** What is hashed to find the labels of a principal; null where it has no id. */
export function stickyOwnerText(principal: LimitParty['principal']): string | null {
  const key = principalKey(principal)
  if (key === null) return null
  return typeof key === 'string' ? `sticky:${key}` : `sticky-${JSON.stringify(key)}`
}

/** Labels that the calls of a proposal make stick from the moment they are allowed. Undefined: none. */
export function stickyLabelsOfProposal(
  { session, plan }: Pick<LoadedSession, 'session' | 'plan'>,
  { calls, provider_calls = [] }: Pick<LedgerBody<'proposal'>, 'calls' | 'provider_calls'>,
): StickyLabels | undefined {
  const allowed = calls.flatMap(({ tool_name, pending_call_id: callId, adds_labels }) =>
    callId !== null && sticks(plan, tool_name) ? adds_labels.map((label) => ({ label, callId })) : [],
  )
  // What the provider ran has run.
  const added = new Set(provider_calls.flatMap(({ adds_labels }) => adds_labels))
  const ran = provider_calls.flatMap(({ tool_names }) =>
    tool_names.flatMap((tool) => stickyLabelsOf(plan, tool).filter((label) => added.has(label))),
  )
  return changeOf(session, plan, { added: [...allowed, ...settledLabels(ran)], settled: [] })
}

/** What receipts say of labels that stick: those of a call that did not run are taken back. Undefined: nothing. */
export function stickyLabelsOfReceipts(
  { session, plan }: Pick<LoadedSession, 'session' | 'plan'>,
  { receipts }: LedgerBody<'receipts'>,
): StickyLabels | undefined {
  const { open } = session.head.state
  const settled = receipts.flatMap(({ pending_call_id, outcome, late }) => {
    const call = open?.calls.find((one) => one.pending_call_id === pending_call_id)
    if (late || call === undefined || call.state === 'resolved' || !sticks(plan, call.tool_name)) return []
    return [{ id: pending_call_id, labels: outcome === 'not_executed' ? [] : call.adds_labels }]
  })
  const added = settledLabels(settled.flatMap(({ labels }) => labels))
  return changeOf(session, plan, { added, settled: settled.map(({ id }) => id) })
}

const settledLabels = (labels: readonly string[]) => [...new Set(labels)].map((label) => ({ label, callId: null }))

function changeOf({ fixed }: SessionRow, plan: Plan, change: Omit<StickyLabels, 'owner'>): StickyLabels | undefined {
  if (!plan.hasStickyLabels || fixed.limitSalt === null) return undefined
  const ownerText = stickyOwnerText(fixed.principal)
  if (ownerText === null || (change.added.length === 0 && change.settled.length === 0)) return undefined
  return { owner: sha256Hex(`${fixed.limitSalt.length}:${fixed.limitSalt}:${ownerText}`), ...change }
}

const stickyLabelsOf = (plan: Plan, tool: string): readonly string[] =>
  sticks(plan, tool) ? (plan.contracts.get(tool)?.addsLabels ?? []).map(({ label }) => label) : []

const sticks = (plan: Plan, tool: string): boolean =>
  plan.contracts.get(tool)?.definition.labels?.sticks_to !== undefined
