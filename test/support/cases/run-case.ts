import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import {
  applyEvent,
  bucketAt,
  chainEvent,
  checkExecution,
  checkPreflight,
  compilePlan,
  createPolicyEvaluator,
  createSharedMemory,
  describeNote,
  evaluateProposal,
  initialState,
  judgeInputInvariants,
  judgeReceipts,
  modesConflict,
  narrowTools,
  type Plan,
  readInputValues,
  readOutputs,
  readResponse,
  releasedDraws,
  type SessionState,
  type SharedMemory,
  saltedHash,
  snapshotOf,
  triggeredCheckpoints,
  type Verdict,
} from '@countersign/engine'
import type {
  BlockReason,
  ChainedEvent,
  Decision,
  JsonObject,
  JsonValue,
  LedgerHead,
  Receipt,
  SessionEvent,
} from '@countersign/protocol'
import {
  type Case,
  type CaseEnd,
  type ControlStep,
  isTurn,
  type ObservedTurn,
  responseOf,
  type TurnStep,
  toolsOf,
} from './cases.js'

const policy = createPolicyEvaluator(cedar)
const SALT = 'case'
const AGENT = 'case-agent'
const SESSION = 'case-session'
const NOTHING = '0'.repeat(64)

export interface EngineRun {
  readonly plan: Plan
  readonly turns: readonly ObservedTurn[]
  readonly events: readonly ChainedEvent[]
  readonly state: SessionState
}

/** Runs a case on the engine alone: judge, event, next state, as every face does. */
export function runCaseOnEngine(run: Case): EngineRun {
  const session = openSession(run)
  const turns: ObservedTurn[] = []
  for (const step of run.steps) {
    if (isTurn(step)) turns.push(takeTurn(run, session, step))
    else control(session, step)
  }
  return { plan: session.plan, turns, events: session.events, state: session.state }
}

interface OpenSession {
  readonly plan: Plan
  state: SessionState
  nowMs: number
  calls: number
  proposals: number
  head: LedgerHead | null
  readonly memory: SharedMemory
  readonly events: ChainedEvent[]
}

const plans = new WeakMap<Case, Plan>()

/** The plan of a case, compiled once; throws when it does not compile. */
export function planOf(run: Case): Plan {
  const known = plans.get(run)
  if (known !== undefined) return known
  const plan = compileCase(run)
  plans.set(run, plan)
  return plan
}

function compileCase({ contracts, session }: Case): Plan {
  const result = compilePlan(
    {
      contracts: contracts.map((value) => ({ file: `${value.tool}.yaml`, text: JSON.stringify(value) })),
      session: session === undefined ? undefined : { file: 'session.yaml', value: session },
    },
    { policy },
  )
  if (!result.ok) throw new Error(result.errors.map(describeNote).join('\n'))
  return result.plan
}

function openSession(run: Case): OpenSession {
  const plan = planOf(run)
  const nowMs = Date.parse('2026-01-01T00:00:00.000Z')
  const event: Extract<SessionEvent, { type: 'created' }> = {
    type: 'created',
    at: new Date(nowMs).toISOString(),
    body: {
      agent: AGENT,
      environment: null,
      holder_id: 'case',
      compiled_hash: plan.hash,
      plan_source: 'client',
      unmatched_policy: run.unmatchedPolicy,
      capture_level: 'redacted',
      labels: [...run.labels],
      has_principal: run.principal !== undefined,
      initial_phase: plan.phases?.initial ?? null,
      fence: 1,
      workflow: null,
    },
  }
  const first = chainEvent(null, SESSION, event)
  const state = initialState(plan, event)
  return { plan, state, nowMs, calls: 0, proposals: 0, head: first, events: [first], memory: createSharedMemory() }
}

function record(session: OpenSession, type: SessionEvent['type'], body: unknown): void {
  const event = { type, at: new Date(session.nowMs).toISOString(), body } as SessionEvent
  const { seq, hash } = session.events.at(-1) ?? { seq: 0, hash: NOTHING }
  session.events.push(chainEvent({ seq, hash }, SESSION, event))
  session.state = applyEvent(session.state, event, session.plan)
}

function control(session: OpenSession, step: ControlStep): void {
  if (step.label !== undefined) record(session, 'label', { label: step.label })
  if (step.filter !== undefined) record(session, 'tool_filter', { tools: step.filter })
  if (step.kill === true) record(session, 'killed', { by: 'client' })
  session.nowMs += (step.wait_seconds ?? 0) * 1_000
}

function takeTurn(run: Case, session: OpenSession, step: TurnStep): ObservedTurn {
  const { plan, state, nowMs } = session
  const provider = 'openai'
  const model = step.model ?? 'gpt-4o'
  const tools = toolsOf(run, step)
  const known = session.memory.counts({ principal: run.principal, agent: AGENT, workflowId: 'case' })
  const shared = run.counts === 'unknown' ? { ...known, used: () => null } : known
  const { unmatchedPolicy, principal } = run
  const about = { plan, state, unmatchedPolicy, principal, agent: AGENT, nowMs, shared }
  const { allowed, removed } = narrowTools({ ...about, tools: tools.map((name) => ({ name })) })
  const { blocked } = checkPreflight({ plan, state, nowMs, provider, model, toolless: tools.length === 0, shared })
  const removedBy = Object.fromEntries(removed.map(({ tool, reason }) => [tool, reason]))
  if (blocked !== null) {
    const preflight = { reason: blocked.reason, detail: blocked.detail }
    return { ...nothingDecided(session), preflight, removed: removedBy }
  }
  const response = readResponse(responseOf(step, session.calls + 1))
  session.calls += step.calls.length
  const proposalId = `p${++session.proposals}`
  const verdict = evaluateProposal({
    ...about,
    response,
    gate: run.gate,
    salt: SALT,
    nowMs,
    offered: allowed,
    toolless: tools.length === 0,
    inputFailures: judgeInputInvariants({ plan, state, salt: SALT }, readInputValues(plan, step.request ?? {})),
    flows: step.flows,
    heldResources: (key, mode) =>
      step.held?.some((hold) => hold.key === key && modesConflict(hold.mode, mode)) === true ? 'another' : null,
    ids: { sessionId: SESSION, proposalId, pendingCallId: (index) => `${proposalId}.${index}` },
    provider,
    model,
    usage: step.usage,
  })
  record(session, 'proposal', { ...verdict.event, prepared_request_id: proposalId, prepared_digest: NOTHING })
  session.memory.change(
    verdict.draws.map(({ limit, id, amount }) => ({ limit: limit.name, id, amount, bucket: bucketAt(limit, nowMs) })),
  )
  if (verdict.breaker) record(session, 'killed', { by: 'breaker' })
  const ended = finishCalls(session, step, verdict)
  return {
    ...nothingDecided(session),
    preflight: null,
    removed: removedBy,
    outcome: verdict.outcome,
    decisions: verdict.decisions,
    ...ended,
  }
}

function nothingDecided(session: OpenSession) {
  const { state, plan } = session
  return {
    outcome: null,
    decisions: [],
    stopped: [],
    committed: null,
    state: snapshotOf(state, plan, { sessionId: SESSION, lastNarrowing: null }),
    status: state.status,
    labels: state.labels,
  }
}

/** Does what the wrapper does: asks, checks right before running, runs, and reports. */
function finishCalls(session: OpenSession, step: TurnStep, verdict: Verdict) {
  const stopped: (BlockReason | null)[] = []
  const receipts = verdict.decisions.flatMap((decision, at): Receipt[] => {
    const end = step.then?.[at] ?? null
    const args = step.calls[at]?.args ?? {}
    if (decision.pending_call_id === null || end === null) {
      stopped.push(null)
      return []
    }
    const cause = stopOf(session.plan, decision, args, end)
    stopped.push(cause)
    return [receiptOf(decision, args, cause === null ? end : { ...end, outcome: 'not_executed' })]
  })
  if (receipts.length === 0) return { stopped }
  const at = new Date(session.nowMs).toISOString()
  const { plan, state } = session
  const judged = judgeReceipts({ plan, state, receipts, fence: state.fence, salt: SALT, at })
  session.memory.change(releasedDraws(plan, state, judged.event))
  record(session, 'receipts', judged.event)
  if (judged.argumentsChanged.length > 0) record(session, 'bypass', { method: null, cause: 'arguments_changed' })
  if (judged.breaker) record(session, 'killed', { by: 'breaker' })
  const { state: snapshot, status, labels } = nothingDecided(session)
  return { stopped, committed: judged.event.committed, state: snapshot, status, labels }
}

function stopOf(plan: Plan, decision: Decision, args: JsonObject, end: CaseEnd): BlockReason | null {
  const idPrefix = decision.pending_call_id ?? ''
  const own = triggeredCheckpoints(plan, { tool: decision.tool_name, arguments: args, idPrefix }, [])
  const isAsked = own.length > 0 || decision.checkpoint_required
  if (isAsked && end.answer === 'deny') return 'checkpoint_denied'
  const allowsTimeout = decision.checkpoints.every(({ on_timeout: onTimeout }) => onTimeout === 'allow')
  if (isAsked && end.answer === 'timeout' && !allowsTimeout) return 'checkpoint_timeout'
  return checkExecution(plan, decision.tool_name, end.arguments ?? args)?.reason ?? null
}

function receiptOf(decision: Decision, args: JsonObject, end: CaseEnd): Receipt {
  const time = '2026-01-01T00:00:00.000Z'
  const evidence = end.evidence ?? 'executed'
  const ran = saltedHash(SALT, end.arguments ?? args)
  const result: JsonValue = end.result ?? null
  return {
    pending_call_id: decision.pending_call_id ?? '',
    outcome: end.outcome ?? 'succeeded',
    evidence_level: evidence,
    argument_hash: ran,
    ...(evidence === 'executed' ? { result_hash: saltedHash(SALT, result), started_at: time, finished_at: time } : {}),
    outputs: readOutputs(decision.output_paths, result),
    ...(end.answer === undefined
      ? {}
      : {
          approvals: decision.checkpoints.map(({ checkpoint_id }) => ({
            checkpoint_id,
            decision: end.answer ?? 'deny',
            argument_hash: ran,
          })),
        }),
  }
}
