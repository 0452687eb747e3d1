import type { LedgerBody, LedgerCall, ProviderCall } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import { addDecimals, compareDecimals } from '../json/decimal.js'
import { lookUp, setEntry } from '../json/look-up.js'
import { copyState, type Mutable, pendingCall } from './copy-state.js'
import { changeOpenings, countKeys, withoutProofs } from './kept-values.js'
import { questionsAfter, triggersOf } from './questions.js'
import type { PendingCall, RegisteredCall, SessionState } from './state.js'
import { MINUTE_MS } from './state.js'
import { askedUntil, withoutUnanswered } from './unanswered.js'

/** The part of a proposal event that changes the state: all but the prepared request that it consumed. */
export type ProposalFacts = Omit<LedgerBody<'proposal'>, 'prepared_request_id' | 'prepared_digest'>

/** Registered calls narrow from now on; nothing widens before their receipts arrive. */
export function applyProposal(
  state: SessionState,
  { body, at }: { readonly body: ProposalFacts; readonly at: string },
  plan: Plan,
): SessionState {
  const next = copyState(state)
  if (body.cost !== '0') {
    next.actualCost = addDecimals(state.actualCost, body.cost)
    if (compareDecimals(body.cost, state.highestCost) > 0) next.highestCost = body.cost
  }
  // A response without calls neither continues nor ends a series of blocks.
  if (body.outcome === 'allowed') next.consecutiveBlocks = 0
  else if (body.outcome !== 'no_calls' && body.calls.some(isBlocked)) {
    next.consecutiveBlocks += 1
    next.totalBlocks += 1
  }
  if (body.provider_calls !== undefined) countProviderCalls(next, body.provider_calls, at, plan)
  next.questions = questionsAfter(next.questions, body.calls, at)
  if (next.questions !== undefined) next.checkpointsTriggered += triggersOf(body.calls)
  const calls = body.calls.filter(isRegistered)
  if (calls.length === 0) return next
  if (state.open !== null) throw new Error('a proposal registered calls while another was open')
  const limits = plan.session.session_limits
  next.used = countTools(next.used, calls)
  next.usedCalls += calls.length
  if (calls.some(addsAmounts)) addAmounts(next, calls)
  useUp(next, calls)
  next.recent = recentCalls(next, calls, limits?.loop_detection?.window ?? 0)
  next.recentTimes = recentTimes(next, at, calls.length, limits?.max_calls_per_minute ?? 0)
  const pending = calls.map((call): PendingCall => {
    const { tool_name: tool, argument_hash: hash, checkpoints } = call
    const registered = pendingCall(call, 'pending', at)
    if (checkpoints.length === 0) return registered
    const asked_until = askedUntil(next, { tool, hash }, Date.parse(at))
    if (asked_until === null) {
      next.checkpointsTriggered += checkpoints.length
      return registered
    }
    // It was counted when a person was asked first.
    next.unanswered = withoutUnanswered(next.unanswered, { tool, hash })
    return { ...registered, asked_until }
  })
  next.open = {
    proposalId: body.proposal_id,
    cost: body.cost,
    calls: pending,
    succeeded: false,
    advancesTo: null,
    effects: { tools: [], binds: {}, establishes: {}, satisfied: [] },
    ...(body.blocks_before !== undefined && { blocksBefore: body.blocks_before }),
  }
  return next
}

/** What the provider ran has happened: all of it counts at once, and nothing waits for a receipt. */
function countProviderCalls(next: Mutable<SessionState>, calls: readonly ProviderCall[], at: string, plan: Plan): void {
  const limits = plan.session.session_limits
  const names = calls.flatMap(({ tool_names }) => tool_names.map((tool_name) => ({ tool_name })))
  next.used = countTools(next.used, names)
  next.usedCalls += calls.length
  addAmounts(next, calls)
  useUp(next, calls)
  const undone = calls.flatMap(({ undoes }) => undoes ?? [])
  if (undone.length > 0) next.satisfied = withoutProofs(next.satisfied, undone)
  const hashed = calls.flatMap(({ call_id, tool_name, argument_hash }) =>
    argument_hash === null ? [] : [{ pending_call_id: call_id ?? '', tool_name, argument_hash }],
  )
  next.recent = recentCalls(next, hashed, limits?.loop_detection?.window ?? 0)
  next.recentTimes = recentTimes(next, at, calls.length, limits?.max_calls_per_minute ?? 0)
  const added = new Set(calls.flatMap(({ adds_labels }) => adds_labels))
  const missing = [...added].filter((label) => !next.labels.includes(label))
  if (missing.length === 0) return
  next.labels = [...next.labels, ...missing]
  next.controlRevision += 1
}

/** A call that waits for people is neither blocked nor allowed. */
const isBlocked = ({ decision, question }: LedgerCall): boolean => decision === 'block' && question === undefined

const isRegistered = (call: LedgerCall): call is RegisteredCall =>
  call.pending_call_id !== null && call.argument_hash !== null

function countTools(
  used: SessionState['used'],
  calls: readonly Pick<RegisteredCall, 'tool_name'>[],
): SessionState['used'] {
  const next = { ...used }
  for (const { tool_name: tool } of calls) setEntry(next, tool, (lookUp(next, tool) ?? 0) + 1)
  return next
}

function addsAmounts({ amounts }: RegisteredCall): boolean {
  for (const _name in amounts) return true
  return false
}

function addAmounts(next: Mutable<SessionState>, calls: readonly Pick<RegisteredCall, 'amounts'>[]): void {
  const sums = { ...next.aggregates }
  const added: string[] = []
  for (const { amounts } of calls) {
    for (const [slot, amount] of Object.entries(amounts)) {
      const sum = lookUp(sums, slot)
      if (sum === undefined) added.push(slot)
      setEntry(sums, slot, addDecimals(sum ?? '0', amount))
    }
  }
  next.aggregates = sums
  countKeys(next, 'aggregates', added, 1)
}

/** An earlier call that opened this one opens no other, whatever becomes of it. */
function useUp(next: Mutable<SessionState>, calls: readonly Pick<RegisteredCall, 'consumes'>[]): void {
  const consumed = calls.flatMap(({ consumes }) => consumes ?? [])
  next.openings = changeOpenings(next.openings, consumed, -1)
}

function recentCalls(
  state: Pick<SessionState, 'recent'>,
  calls: readonly Pick<RegisteredCall, 'pending_call_id' | 'tool_name' | 'argument_hash'>[],
  window: number,
): SessionState['recent'] {
  if (window === 0) return []
  const added = calls.map((call) => ({ id: call.pending_call_id, tool: call.tool_name, hash: call.argument_hash }))
  return [...state.recent, ...added].slice(-window)
}

function recentTimes(
  state: Pick<SessionState, 'recentTimes'>,
  at: string,
  calls: number,
  most: number,
): readonly number[] {
  if (most === 0) return []
  const atMs = Date.parse(at)
  const recent = state.recentTimes.filter((time) => time > atMs - MINUTE_MS)
  return [...recent, ...Array.from({ length: calls }, () => atMs)].slice(-most)
}
