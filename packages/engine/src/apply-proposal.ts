import type { LedgerCall, SessionEvent } from '@countersign/protocol'
import { addDecimals, compareDecimals } from './decimal.js'
import type { Plan } from './plan.js'
import { MINUTE_MS } from './rules/budget.js'
import { lookUp } from './rules/rule.js'
import type { PendingCall, SessionState } from './state.js'

type ProposalEvent = Extract<SessionEvent, { type: 'proposal' }>

/** Registered calls narrow from now on; nothing widens before their receipts. */
export function applyProposal(state: SessionState, { body, at }: ProposalEvent, plan: Plan): SessionState {
  const actualCost = addDecimals(state.actualCost, body.cost)
  const highestCost = compareDecimals(body.cost, state.highestCost) > 0 ? body.cost : state.highestCost
  const { consecutiveBlocks, totalBlocks } = blockCounts(state, body.outcome)
  const calls = body.calls.filter(isRegistered)
  if (calls.length === 0) return { ...state, actualCost, highestCost, consecutiveBlocks, totalBlocks }
  if (state.open !== null) throw new Error('a proposal registered calls while another was open')
  const limits = plan.session.session_limits
  return {
    ...state,
    actualCost,
    highestCost,
    consecutiveBlocks,
    totalBlocks,
    used: countTools(state.used, calls),
    usedCalls: state.usedCalls + calls.length,
    aggregates: addAmounts(state.aggregates, calls),
    recent: lastOf(
      [
        ...state.recent,
        ...calls.map((call) => ({ id: call.pending_call_id, tool: call.tool_name, hash: call.argument_hash })),
      ],
      limits?.loop_detection?.window ?? 0,
    ),
    recentTimes: recentTimes(state, Date.parse(at), calls.length, limits?.max_calls_per_minute ?? 0),
    checkpointsTriggered: state.checkpointsTriggered + calls.reduce((sum, call) => sum + call.checkpoints.length, 0),
    open: {
      proposalId: body.proposal_id,
      cost: body.cost,
      calls: calls.map((call): PendingCall => ({ ...call, state: 'pending', proposed_at: at })),
      succeeded: false,
      advancesTo: null,
      effects: { tools: [], binds: {}, establishes: {}, satisfied: [] },
    },
  }
}

type RegisteredCall = LedgerCall & { pending_call_id: string; argument_hash: string }

const isRegistered = (call: LedgerCall): call is RegisteredCall =>
  call.pending_call_id !== null && call.argument_hash !== null

/** A response without calls says nothing about the model's obedience. */
function blockCounts(
  { consecutiveBlocks, totalBlocks }: SessionState,
  outcome: ProposalEvent['body']['outcome'],
): Pick<SessionState, 'consecutiveBlocks' | 'totalBlocks'> {
  if (outcome === 'no_calls') return { consecutiveBlocks, totalBlocks }
  if (outcome === 'allowed') return { consecutiveBlocks: 0, totalBlocks }
  return { consecutiveBlocks: consecutiveBlocks + 1, totalBlocks: totalBlocks + 1 }
}

function countTools(used: SessionState['used'], calls: readonly RegisteredCall[]): SessionState['used'] {
  const next = { ...used }
  for (const { tool_name: tool } of calls) setEntry(next, tool, (lookUp(next, tool) ?? 0) + 1)
  return next
}

function addAmounts(sums: SessionState['aggregates'], calls: readonly RegisteredCall[]): SessionState['aggregates'] {
  const next = { ...sums }
  for (const { amounts } of calls) {
    for (const [name, amount] of Object.entries(amounts)) {
      setEntry(next, name, addDecimals(lookUp(next, name) ?? '0', amount))
    }
  }
  return next
}

/** An own entry whatever its name: a plain assignment to `__proto__` would vanish. */
export function setEntry<T>(record: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(record, name, { value, writable: true, enumerable: true, configurable: true })
}

const lastOf = <T>(items: readonly T[], count: number): readonly T[] => (count === 0 ? [] : items.slice(-count))

function recentTimes(state: SessionState, atMs: number, calls: number, most: number): readonly number[] {
  if (most === 0) return []
  const kept = state.recentTimes.filter((time) => time > atMs - MINUTE_MS)
  return lastOf([...kept, ...Array.from({ length: calls }, () => atMs)], most)
}
