import type {
  Block,
  CallFlow,
  Decision,
  Flows,
  JsonObject,
  JsonValue,
  NarrowedTool,
  Receipt,
  UnmatchedPolicy,
} from '@countersign/protocol'
import { readOutputs } from '../contract/check-invariant.js'
import type { Plan } from '../contract/plan.js'
import { bucketAt } from '../contract/shared-limit.js'
import { flowOf } from '../flows/flows.js'
import { parseResultText } from '../flows/result-text.js'
import { newTrail, sawCall, sawResult, sawUser, type Trail } from '../flows/trail.js'
import { hashValue } from '../json/hash.js'
import { checkStrictValue } from '../json/strict-json.js'
import { evaluateProposal } from '../judge/evaluate-proposal.js'
import { narrowTools } from '../judge/narrow.js'
import type { Verdict } from '../judge/proposal.js'
import { judgeReceipts } from '../judge/receipts.js'
import { createSharedMemory, releasedDraws, type SharedMemory } from '../judge/shared-memory.js'
import { readResponse } from '../response/read-response.js'
import { applyEvent } from '../state/apply-event.js'
import { initialState } from '../state/session-start.js'
import type { SessionState } from '../state/state.js'
import { editedCalls } from './edited-calls.js'

/** A recorded session or a fixture: what the user said, and the calls of each turn. */
export interface PastSession {
  readonly agent?: string | null
  readonly labels?: readonly string[]
  readonly principal?: JsonValue | undefined
  readonly user: readonly string[]
  readonly turns: readonly PastTurn[]
}

/** One model response of a past session: the calls it proposed together. */
export interface PastTurn {
  /** What the user said before this turn, besides the session's first message. */
  readonly user?: readonly string[]
  readonly calls: readonly PastCall[]
  /** When it was; unknown if absent, and hours say nothing then. */
  readonly atMs?: number
}

/** One call of a past session, with its result if that was recorded. */
export interface PastCall {
  readonly name: string
  readonly arguments: JsonValue
  /** Undefined if it was not recorded. Several: the tool answered more than once, and later calls saw all answers. */
  readonly results?: readonly unknown[]
  readonly failed?: boolean
  /** As recorded; computed from the session if absent. */
  readonly flow?: CallFlow
}

/** The decision on one call of a replayed session, to compare with the expected one. */
export interface CallComparison {
  readonly turn: number
  readonly call: number
  readonly tool: string
  readonly decision: 'allow' | 'block'
  /** A person was asked first. */
  readonly asked: boolean
  /** Why that person may not change the call as they did; null where they may, or changed nothing. */
  readonly editProblem: string | null
  /** What a person was asked, and about which arguments. */
  readonly questions: readonly { readonly id: string; readonly reason: string; readonly paths: readonly string[] }[]
  readonly reasons: readonly Block[]
}

/** What a backtest replays a session with. */
export interface BacktestOptions {
  readonly plan: Plan
  readonly unmatchedPolicy: UnmatchedPolicy
  /** Answers for the person who is asked; approves everything if absent. */
  approve?(call: { readonly turn: number; readonly call: number }): boolean
  /** What that person makes of the arguments; nothing if absent. */
  edit?(call: { readonly turn: number; readonly call: number }): JsonObject | undefined
  /** Judges shared limits too, as if there were no other session. Not judged if absent: what others used is unknown. */
  readonly judgesShared?: boolean
  /** What a request that offers every tool with a contract would lose before each turn. */
  onNarrowed?(removed: readonly NarrowedTool[]): void
}

/**
 * Judges a past session call by call with the functions that judge a live one. A call that the plan blocks or the
 * person denies does not run: later calls see neither it nor its result.
 */
export function backtestSession(session: PastSession, options: BacktestOptions): CallComparison[] {
  const memory = options.judgesShared === true && options.plan.shared !== null ? createSharedMemory() : null
  const replay: Replay = { session, options, state: startState(session, options.plan), trail: newTrail(), memory }
  for (const text of session.user) sawUser(replay.trail, text)
  return session.turns.flatMap((turn, index) => playTurn(replay, turn, index))
}

interface Replay {
  readonly session: PastSession
  readonly options: BacktestOptions
  readonly trail: Trail
  readonly memory: SharedMemory | null
  state: SessionState
}

/** Time stands still in a backtest: limits per minute would judge the replay, not the session. */
const AT = '2000-01-01T00:00:00.000Z'
const SALT = 'backtest'
const NO_HASH = '0'.repeat(64)

function startState(session: PastSession, plan: Plan): SessionState {
  return initialState(plan, {
    type: 'created',
    at: AT,
    body: {
      agent: session.agent ?? null,
      environment: null,
      holder_id: SALT,
      compiled_hash: plan.hash,
      plan_source: 'client',
      unmatched_policy: 'block',
      capture_level: 'metadata',
      labels: [...(session.labels ?? [])],
      has_principal: session.principal !== undefined,
      initial_phase: plan.phases?.initial ?? null,
      fence: 1,
      workflow: null,
    },
  })
}

function playTurn(replay: Replay, turn: PastTurn, index: number): CallComparison[] {
  const { trail } = replay
  for (const text of turn.user ?? []) sawUser(trail, text)
  const calls = turn.calls.map((call, at) => ({ ...call, id: `${index}.${at}` }))
  const flows: Flows = {
    calls: calls.map(({ id, name, arguments: given, flow }) =>
      flow === undefined ? flowOf(trail, { id, tool: name, arguments: given }) : { ...flow, call_id: id },
    ),
  }
  const { plan, approve, edit = () => undefined } = replay.options
  noteNarrowed(replay, turn.atMs)
  const when = { index, atMs: turn.atMs }
  const asked = propose(replay, calls, flows, when)
  const { decisions } = asked
  const edited = editedCalls({ plan, calls, flows, decisions, edit: (call) => edit({ turn: index, call }) })
  const verdict = edited === null ? asked : propose(replay, edited.calls, edited.flows, when)
  record(replay, verdict, when)
  const refused = new Set<number>()
  verdict.decisions.forEach(({ checkpoint_required }, call) => {
    if (checkpoint_required && approve?.({ turn: index, call }) === false) refused.add(call)
  })
  settle(replay, edited?.calls ?? calls, verdict, refused)
  return verdict.decisions.map((decision, call) => ({
    turn: index,
    call,
    tool: decision.tool_name,
    decision: decision.decision,
    asked: decisions[call]?.checkpoint_required === true,
    editProblem: edited?.problems[call] ?? null,
    questions: (decisions[call]?.checkpoints ?? []).map(({ checkpoint_id, reason, context }) => ({
      id: checkpoint_id,
      reason,
      paths: context.map(({ path }) => path),
    })),
    reasons: decision.reasons,
  }))
}

type NamedCall = PastCall & { readonly id: string }

interface When {
  readonly index: number
  readonly atMs: number | undefined
}

const aboutOf = ({ session, options, state, memory }: Replay, atMs: number | undefined) => ({
  plan: options.plan,
  state,
  unmatchedPolicy: options.unmatchedPolicy,
  principal: session.principal,
  agent: session.agent ?? null,
  nowMs: nowOf(atMs),
  isTimed: atMs !== undefined,
  shared: memory?.counts({ principal: session.principal, agent: session.agent ?? null, workflowId: SALT }),
})

const nowOf = (atMs: number | undefined): number => atMs ?? Date.parse(AT)

function noteNarrowed(replay: Replay, atMs: number | undefined): void {
  const { onNarrowed, plan } = replay.options
  if (onNarrowed === undefined) return
  const tools = [...plan.contracts.keys()].map((name) => ({ name }))
  onNarrowed(narrowTools({ ...aboutOf(replay, atMs), tools }).removed)
}

function propose(replay: Replay, calls: readonly NamedCall[], flows: Flows, { index, atMs }: When): Verdict {
  const response = readResponse({
    tool_calls: calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given })),
    content: null,
    finish_reason: 'tool_calls',
  })
  return evaluateProposal({
    ...aboutOf(replay, atMs),
    response,
    gate: 'strip_partial',
    salt: SALT,
    offered: null,
    toolless: false,
    flows,
    ids: { sessionId: SALT, proposalId: String(index), pendingCallId: (call) => `${index}.${call}` },
  })
}

/** The calls are registered, and what they take of shared limits is taken. */
function record(replay: Replay, verdict: Verdict, { index, atMs }: When): void {
  const { options } = replay
  const body = { ...verdict.event, prepared_request_id: String(index), prepared_digest: NO_HASH }
  const at = atMs === undefined || options.judgesShared !== true ? AT : new Date(atMs).toISOString()
  replay.state = applyEvent(replay.state, { type: 'proposal', at, body }, options.plan)
  const taken = verdict.draws.map(({ limit, id, amount }) => ({
    limit: limit.name,
    id,
    amount,
    bucket: bucketAt(limit, nowOf(atMs)),
  }))
  replay.memory?.change(taken)
}

/** Reports the outcome of the allowed calls, as the wrapper would, and shows their results to later calls. */
function settle(replay: Replay, calls: readonly NamedCall[], verdict: Verdict, refused: ReadonlySet<number>): void {
  const { trail, options } = replay
  const receipts: Receipt[] = []
  verdict.decisions.forEach((decision, index) => {
    const call = calls[index]
    if (call === undefined || decision.pending_call_id === null || decision.argument_hash === null) return
    const ran = !refused.has(index)
    receipts.push(receiptOf(decision, call, ran, options.plan))
    if (!ran) return
    sawCall(trail, call.name, call.arguments)
    for (const result of call.results ?? []) sawResult(trail, call.name, result, call)
  })
  if (receipts.length === 0) return
  const batch = { plan: options.plan, state: replay.state, receipts, fence: replay.state.fence, salt: SALT, at: AT }
  const { event } = judgeReceipts(batch)
  replay.memory?.change(releasedDraws(options.plan, replay.state, event))
  replay.state = applyEvent(replay.state, { type: 'receipts', at: AT, body: event }, options.plan)
}

function receiptOf(decision: Decision, call: PastCall, ran: boolean, plan: Plan): Receipt {
  const argument_hash = decision.argument_hash ?? NO_HASH
  const base = { pending_call_id: decision.pending_call_id ?? '', argument_hash, evidence_level: 'executed' as const }
  const approvalsThat = (decided: 'approve' | 'deny') =>
    decision.checkpoints.map(({ checkpoint_id }) => ({
      checkpoint_id,
      decision: decided,
      argument_hash,
      decided_by: SALT,
      decided_at: AT,
    }))
  if (!ran) return { ...base, outcome: 'not_executed', approvals: approvalsThat('deny') }
  const output = outputOf(call)
  return {
    ...base,
    outcome: call.failed === true ? 'failed' : 'succeeded',
    result_hash: hashValue(output),
    started_at: AT,
    finished_at: AT,
    outputs: readOutputs(plan.contracts.get(call.name)?.outputPaths ?? [], output),
    approvals: approvalsThat('approve'),
  }
}

/** A result given as text is parsed if it has a structure; what is not plain JSON counts as no output. */
function outputOf({ results }: PastCall): JsonValue {
  const last = results?.at(-1)
  const value = typeof last === 'string' ? parseResultText(last) : last
  return value === undefined || checkStrictValue(value) !== null ? null : (value as JsonValue)
}
