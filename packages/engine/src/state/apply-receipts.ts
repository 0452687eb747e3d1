import { type Fact, type LedgerReceipt, LIMITS, type Opening, type SessionEvent } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import { addDecimals, subtractDecimals } from '../json/decimal.js'
import { lookUp, setEntry } from '../json/look-up.js'
import { copyState, type Mutable, pendingCall } from './copy-state.js'
import { changeOpenings, countKeys, isForgettable, widen, withoutProofs } from './kept-values.js'
import type { Extremes, OpenStep, PendingCall, SessionState } from './state.js'
import { withUnanswered } from './unanswered.js'

type ReceiptsEvent = Extract<SessionEvent, { type: 'receipts' }>

/** Resolves calls. Once all calls of the step are resolved and one succeeded at its level, the step commits. */
export function applyReceipts(state: SessionState, { body, at }: ReceiptsEvent, plan: Plan): SessionState {
  if (state.open === null) return state
  const next = copyState(state)
  let open = state.open
  let isTampered = false
  const released: PendingCall[] = []
  const refused: PendingCall[] = []
  const own = ownEffects(open.effects)
  for (const receipt of body.receipts) {
    const call = open.calls.find(({ pending_call_id: id }) => id === receipt.pending_call_id)
    if (receipt.late || call === undefined || call.state === 'resolved') continue
    if (receipt.argument_hash !== call.argument_hash) isTampered = true
    if (releasesBudget(call, receipt.outcome)) released.push(call)
    if (receipt.refused === true) refused.push(call)
    if (receipt.unanswered === true) next.unanswered = withUnanswered(next.unanswered, [call], plan)
    takeOutcome(next, call, receipt)
    if (receipt.block_reason !== undefined) countBlock(next, open)
    open = resolved(open, call, receipt, own)
    if (receipt.undoes === undefined) continue
    const undone = receipt.undoes.map((key) => ({ key, witness: lookUp(call.witnesses, key) ?? null }))
    next.satisfied = withoutProofs(next.satisfied, undone)
    open = { ...open, effects: { ...open.effects, undone: [...(open.effects.undone ?? []), ...undone] } }
  }
  if (released.length > 0) release(next, released, refused)
  if (refused.length > 0) next.refused = withRefused(next.refused, refused)
  if (open.calls.some((call) => call.state !== 'resolved')) {
    next.open = open
    return next
  }
  next.open = null
  if (next.status === 'RECOVERING') next.status = 'ACTIVE'
  const isStopped = state.status === 'KILLED' || state.status === 'COMPROMISED'
  if (open.succeeded && !isStopped && !isTampered) commit(next, open, at)
  return next
}

/** True if what the call took counts no longer: it did not run, or was rolled back. */
export const releasesBudget = (
  { rolls_back }: Pick<PendingCall, 'rolls_back'>,
  outcome: LedgerReceipt['outcome'],
): boolean => outcome === 'not_executed' || (outcome === 'failed' && rolls_back)

/** What an outcome does immediately: it may add labels, count an error. Nothing here widens. */
function takeOutcome(next: Mutable<SessionState>, call: PendingCall, { outcome }: LedgerReceipt): void {
  if (outcome === 'failed') next.consecutiveErrors += 1
  if (outcome === 'succeeded') next.consecutiveErrors = 0
  if (outcome === 'not_executed' || call.adds_labels.length === 0) return
  const added = call.adds_labels.filter((label) => !next.labels.includes(label))
  if (added.length === 0) return
  next.labels = [...next.labels, ...added]
  next.controlRevision += 1
}

/**
 * A call was stopped after the proposal had been allowed, which had ended the series of blocks: now it goes on. A
 * proposal counts as one block, however many of its calls are blocked, then or later.
 */
function countBlock(next: Mutable<SessionState>, { blocksBefore = 0 }: OpenStep): void {
  if (next.consecutiveBlocks > 0) return
  next.consecutiveBlocks = blocksBefore + 1
  next.totalBlocks += 1
}

/** Gives back what calls took. What is counted is copied once for all of them. */
function release(next: Mutable<SessionState>, calls: readonly PendingCall[], refused: readonly PendingCall[]): void {
  const used = { ...next.used }
  const aggregates = { ...next.aggregates }
  const emptied: string[] = []
  for (const call of calls) {
    const left = (lookUp(used, call.tool_name) ?? 0) - 1
    if (left > 0) setEntry(used, call.tool_name, left)
    else delete used[call.tool_name]
    for (const [slot, amount] of Object.entries(call.amounts)) {
      const sum = subtractDecimals(lookUp(aggregates, slot) ?? '0', amount)
      setEntry(aggregates, slot, sum)
      if (!isForgettable(slot, sum)) continue
      delete aggregates[slot]
      emptied.push(slot)
    }
  }
  next.used = used
  next.usedCalls -= calls.length
  next.aggregates = aggregates
  countKeys(next, 'aggregates', emptied, -1)
  next.openings = changeOpenings(
    next.openings,
    calls.flatMap(({ consumes }) => consumes ?? []),
    1,
  )
  // A call that a person refused stays one of the last: proposed again and again, it is a loop.
  const ids = new Set(calls.filter((call) => !refused.includes(call)).map(({ pending_call_id: id }) => id))
  next.recent = next.recent.filter(({ id }) => !ids.has(id))
}

/** As many as a session asks about. */
function withRefused(before: SessionState['refused'] = [], calls: readonly PendingCall[]): SessionState['refused'] {
  const added = calls.map(({ tool_name: tool, argument_hash: hash }) => ({ tool, hash }))
  const others = before.filter(({ tool, hash }) => !added.some((one) => one.tool === tool && one.hash === hash))
  return [...others, ...added].slice(-LIMITS.checkpointTriggersPerSession)
}

/** Copied once for a batch, which adds to it: up to 64 receipts may add thousands of values. */
interface OwnEffects {
  readonly binds: Record<string, Fact>
  readonly establishes: Record<string, string>
  readonly satisfied: Opening[]
}

const ownEffects = ({ binds, establishes, satisfied }: OpenStep['effects']): OwnEffects => ({
  binds: { ...binds },
  establishes: { ...establishes },
  satisfied: [...satisfied],
})

function addAll<Value>(record: Record<string, Value>, added: Readonly<Record<string, Value>>): void {
  for (const [name, value] of Object.entries(added)) setEntry(record, name, value)
}

function resolved(open: OpenStep, call: PendingCall, receipt: LedgerReceipt, own: OwnEffects): OpenStep {
  const { proposalId, cost, succeeded, advancesTo, effects, blocksBefore } = open
  const before = blocksBefore === undefined ? undefined : { blocksBefore }
  const calls = open.calls.map((item) => (item === call ? pendingCall(item, 'resolved', item.proposed_at) : item))
  if (receipt.outcome !== 'succeeded' || !receipt.at_level) {
    return { proposalId, cost, calls, succeeded, advancesTo, effects, ...before }
  }
  addAll(own.binds, call.binds)
  addAll(own.binds, receipt.binds)
  for (const key of receipt.satisfies) own.satisfied.push({ key, witness: lookUp(call.witnesses, key) ?? null })
  return {
    proposalId,
    cost,
    calls,
    succeeded: true,
    advancesTo: call.advances_to ?? advancesTo,
    effects: {
      tools: [...effects.tools, call.tool_name],
      binds: own.binds,
      ...establishedAfter(effects, call, receipt, own),
      satisfied: own.satisfied,
      opened: openedAfter(effects, call, receipt),
      ...(effects.undone !== undefined && { undone: effects.undone }),
    },
    ...before,
  }
}

/** Envelopes after a call: one that it should have established but did not has no bound any more. */
function establishedAfter(
  effects: OpenStep['effects'],
  call: PendingCall,
  receipt: LedgerReceipt,
  { establishes }: OwnEffects,
): Pick<OpenStep['effects'], 'establishes' | 'ends' | 'tightens'> {
  addAll(establishes, call.establishes)
  addAll(establishes, receipt.establishes)
  for (const name of receipt.ends ?? []) delete establishes[name]
  const ends = [...(effects.ends ?? []), ...(receipt.ends ?? [])]
  const tightens = tightenedAfter(effects.tightens, call, receipt)
  if (ends.length === 0) return { establishes, tightens }
  return { establishes, ends, tightens }
}

function tightenedAfter(
  before: OpenStep['effects']['tightens'],
  call: PendingCall,
  receipt: LedgerReceipt,
): OpenStep['effects']['tightens'] {
  if (receipt.tightens === undefined) return before
  const next: Record<string, Extremes> = { ...before }
  for (const name of receipt.tightens) {
    const value = lookUp(receipt.establishes, name) ?? lookUp(call.establishes, name)
    if (value !== undefined) setEntry(next, name, widen(lookUp(next, name), { low: value, high: value }))
  }
  return next
}

function openedAfter(
  effects: OpenStep['effects'],
  call: PendingCall,
  receipt: LedgerReceipt,
): OpenStep['effects']['opened'] {
  if (receipt.opens === undefined) return effects.opened
  const opened = receipt.opens.map((key) => ({ key, witness: lookUp(call.witnesses, key) ?? null }))
  return [...(effects.opened ?? []), ...opened]
}

function without<Value>(record: Readonly<Record<string, Value>>, names: readonly string[]): Record<string, Value> {
  const left = { ...record }
  for (const name of names) delete left[name]
  return left
}

/** The only place where a session advances: version, phase, and everything that widens. */
function commit(next: Mutable<SessionState>, { effects, advancesTo, cost }: OpenStep, at: string): void {
  const counts = { ...next.committed }
  for (const tool of effects.tools) setEntry(counts, tool, (lookUp(counts, tool) ?? 0) + 1)
  const step = next.stateVersion + 1
  const phase = advancesTo ?? next.phase
  next.stateVersion = step
  next.phase = phase
  next.committed = counts
  commitKept(next, effects)
  next.satisfied = withSatisfied(next.satisfied, effects.satisfied.filter(isProved(effects.undone)))
  next.totalCost = addDecimals(next.totalCost, cost)
  next.consecutiveBlocks = 0
  next.lastStep = { step, phase, tools: [...effects.tools], cost: Number(cost), completedAt: at }
}

/** In one step, a run that undoes wins over one that proves, in whichever order they are reported. */
const isProved =
  (undone: readonly Opening[] = []) =>
  ({ key, witness }: Opening): boolean =>
    !undone.some((item) => item.key === key && (item.witness === null || witness === null || item.witness === witness))

/** Values that later calls are judged by. A step that sets none copies none. */
function commitKept(next: Mutable<SessionState>, effects: OpenStep['effects']): void {
  const { binds, establishes, ends = [], tightens } = effects
  const bound = newEntries(next.bindings, binds)
  if (bound !== null) {
    next.bindings = { ...next.bindings, ...binds }
    countKeys(next, 'bindings', bound, 1)
  }
  if (tightens !== undefined) next.strictest = tightened(next, tightens)
  if (ends.length > 0) {
    const ended = ends.filter((slot) => Object.hasOwn(next.envelopes, slot))
    next.envelopes = without(next.envelopes, ended)
    countKeys(next, 'envelopes', new Set(ended), -1)
  }
  const established = newEntries(next.envelopes, establishes)
  if (established !== null) {
    next.envelopes = { ...next.envelopes, ...establishes }
    countKeys(next, 'envelopes', established, 1)
  }
  if (effects.opened !== undefined) next.openings = changeOpenings(next.openings, effects.opened, 1)
}

/** A value that was set before the extremes were kept is one of them. */
function tightened(
  { strictest, envelopes }: Pick<SessionState, 'strictest' | 'envelopes'>,
  added: Readonly<Record<string, Extremes>>,
): Record<string, Extremes> {
  const next: Record<string, Extremes> = { ...strictest }
  for (const [name, extremes] of Object.entries(added)) {
    const value = lookUp(envelopes, name)
    const before = lookUp(next, name) ?? (value === undefined ? undefined : { low: value, high: value })
    setEntry(next, name, widen(before, extremes))
  }
  return next
}

/** The names that a record does not have yet; null if there is nothing to add at all. */
function newEntries(record: Readonly<Record<string, unknown>>, added: Readonly<Record<string, unknown>>) {
  const names = Object.keys(added)
  return names.length === 0 ? null : names.filter((name) => !Object.hasOwn(record, name))
}

/** A precondition without a witness is met for good; with one, only for the newest values it was met for. */
function withSatisfied(
  satisfied: SessionState['satisfied'],
  added: OpenStep['effects']['satisfied'],
): SessionState['satisfied'] {
  if (added.length === 0) return satisfied
  const next = { ...satisfied }
  for (const { key, witness } of added) {
    if (witness === null) setEntry(next, key, true as const)
    else {
      const known = lookUp(next, key)
      const others = Array.isArray(known) ? known.filter((item) => item !== witness) : []
      setEntry(next, key, [...others, witness].slice(-LIMITS.witnessesPerPrecondition))
    }
  }
  return next
}
