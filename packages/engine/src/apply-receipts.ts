import { type LedgerReceipt, LIMITS, type SessionEvent } from '@countersign/protocol'
import { setEntry } from './apply-proposal.js'
import { addDecimals, subtractDecimals } from './decimal.js'
import { lookUp } from './rules/rule.js'
import type { OpenStep, PendingCall, SessionState } from './state.js'

type ReceiptsEvent = Extract<SessionEvent, { type: 'receipts' }>

/** Resolves calls; when the last one of the step is resolved and one succeeded at its level, the step commits. */
export function applyReceipts(state: SessionState, { body, at }: ReceiptsEvent): SessionState {
  if (state.open === null) return state
  let next = state
  let open = state.open
  let isTampered = false
  for (const receipt of body.receipts) {
    const call = open.calls.find(({ pending_call_id: id }) => id === receipt.pending_call_id)
    if (receipt.late || call === undefined || call.state === 'resolved') continue
    if (receipt.argument_hash !== call.argument_hash) isTampered = true
    next = withOutcome(next, call, receipt)
    open = resolved(open, call, receipt)
  }
  if (open.calls.some((call) => call.state !== 'resolved')) return { ...next, open }
  const closed: SessionState = { ...next, open: null, status: next.status === 'RECOVERING' ? 'ACTIVE' : next.status }
  const isStopped = state.status === 'KILLED' || state.status === 'COMPROMISED'
  return open.succeeded && !isStopped && !isTampered ? committed(closed, open, at) : closed
}

/** What an outcome does at once: it may release a budget, add labels, count an error. Nothing here widens. */
function withOutcome(state: SessionState, call: PendingCall, receipt: LedgerReceipt): SessionState {
  const { outcome } = receipt
  const isReleased = outcome === 'not_executed' || (outcome === 'failed' && call.rolls_back)
  const added = outcome === 'not_executed' ? [] : call.adds_labels.filter((label) => !state.labels.includes(label))
  const errors =
    outcome === 'failed' ? state.consecutiveErrors + 1 : outcome === 'succeeded' ? 0 : state.consecutiveErrors
  const base = isReleased ? released(state, call) : state
  if (added.length === 0) return errors === state.consecutiveErrors ? base : { ...base, consecutiveErrors: errors }
  return {
    ...base,
    labels: [...state.labels, ...added],
    controlRevision: state.controlRevision + 1,
    consecutiveErrors: errors,
  }
}

function released(state: SessionState, call: PendingCall): SessionState {
  const used = { ...state.used }
  const left = (lookUp(used, call.tool_name) ?? 0) - 1
  if (left > 0) setEntry(used, call.tool_name, left)
  else delete used[call.tool_name]
  const aggregates = { ...state.aggregates }
  for (const [name, amount] of Object.entries(call.amounts)) {
    setEntry(aggregates, name, subtractDecimals(lookUp(aggregates, name) ?? '0', amount))
  }
  return {
    ...state,
    used,
    usedCalls: state.usedCalls - 1,
    aggregates,
    recent: state.recent.filter(({ id }) => id !== call.pending_call_id),
  }
}

function resolved(open: OpenStep, call: PendingCall, receipt: LedgerReceipt): OpenStep {
  const calls = open.calls.map((item) => (item === call ? { ...item, state: 'resolved' as const } : item))
  if (receipt.outcome !== 'succeeded' || !receipt.at_level) return { ...open, calls }
  const { effects } = open
  return {
    ...open,
    calls,
    succeeded: true,
    advancesTo: call.advances_to ?? open.advancesTo,
    effects: {
      tools: [...effects.tools, call.tool_name],
      binds: { ...effects.binds, ...call.binds, ...receipt.binds },
      establishes: { ...effects.establishes, ...call.establishes, ...receipt.establishes },
      satisfied: [
        ...effects.satisfied,
        ...receipt.satisfies.map((key) => ({ key, witness: lookUp(call.witnesses, key) ?? null })),
      ],
    },
  }
}

/** The only place where a session moves on: version, phase, and everything that widens. */
function committed(state: SessionState, open: OpenStep, at: string): SessionState {
  const { effects } = open
  const counts = { ...state.committed }
  for (const tool of effects.tools) setEntry(counts, tool, (lookUp(counts, tool) ?? 0) + 1)
  const phase = open.advancesTo ?? state.phase
  const step = state.stateVersion + 1
  return {
    ...state,
    stateVersion: step,
    phase,
    committed: counts,
    bindings: { ...state.bindings, ...effects.binds },
    envelopes: { ...state.envelopes, ...effects.establishes },
    satisfied: withSatisfied(state.satisfied, effects.satisfied),
    totalCost: addDecimals(state.totalCost, open.cost),
    consecutiveBlocks: 0,
    lastStep: { step, phase, tools: [...effects.tools], cost: Number(open.cost), completedAt: at },
  }
}

/** A precondition without a witness is met for good; with one, for the newest values it was met for. */
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
