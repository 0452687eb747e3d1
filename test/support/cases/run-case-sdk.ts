import { randomUUID } from 'node:crypto'
import {
  checkExecution,
  compilePlan,
  readInputValues,
  readOutputs,
  readResponse,
  saltedHash,
  snapshotOf,
} from '@countersign/engine'
import type { BlockReason, Decision, JsonObject, JsonValue, Receipt, StateSnapshot } from '@countersign/protocol'
import type {
  PreflightRequest,
  PreflightResult,
  ProposalRequest,
  ProposalVerdict,
} from '../../../packages/sdk/src/authority/authority.js'
import {
  createLocalSession,
  type LocalSessionOptions,
} from '../../../packages/sdk/src/authority/local/local-session.js'
import { createRemote } from '../../../packages/sdk/src/authority/remote/remote.js'
import { createSessionApi } from '../../../packages/sdk/src/authority/remote/session-api.js'
import { createTransport } from '../../../packages/sdk/src/authority/transport.js'
import { exchangeBy } from '../../../packages/sdk/src/base/exchange.js'
import { loadPolicyEvaluator } from '../../../packages/sdk/src/contracts/policy.js'
import type { Runtime } from '../runtime/runtime.js'
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

const CASE_TIME = '2026-01-01T00:00:00.000Z'

/** What the SDK asks to have a turn judged, in this process or by a server. */
interface Judge {
  readonly options: LocalSessionOptions
  salt(): string
  preflight(request: PreflightRequest): Promise<PreflightResult>
  propose(proposal: ProposalRequest): Promise<ProposalVerdict>
  submit(receipts: readonly Receipt[], decisions: readonly Decision[]): Promise<void>
  control(step: ControlStep): void
  see(): Promise<{ state: StateSnapshot; status: string; labels: readonly string[] }>
}

/** Runs a case by the SDK without a server. */
export function runCaseLocally(run: Case): Promise<ObservedTurn[]> {
  return runCase(run, localJudge(run))
}

/** Runs a case by the SDK with the server as its authority. */
export function runCaseOnServer(run: Case, runtime: Runtime): Promise<ObservedTurn[]> {
  return runCase(run, serverJudge(run, runtime))
}

async function runCase(run: Case, judge: Judge): Promise<ObservedTurn[]> {
  const turns: ObservedTurn[] = []
  let calls = 0
  for (const step of run.steps) {
    if (!isTurn(step)) judge.control(step)
    else {
      turns.push(await takeTurn(run, judge, step, calls))
      calls += step.calls.length
    }
  }
  return turns
}

async function takeTurn(run: Case, judge: Judge, step: TurnStep, callsBefore: number): Promise<ObservedTurn> {
  const { plan } = judge.options
  const request: PreflightRequest = {
    tools: toolsOf(run, step).map((name) => ({ name, kind: 'function' })),
    provider: 'openai',
    model: step.model ?? 'gpt-4o',
    inputs: readInputValues(plan, step.request ?? {}),
  }
  const prepared = await judge.preflight(request)
  if (prepared.outcome === 'blocked') {
    const { reason, detail } = prepared
    const nothing = { removed: step.removed ?? {}, outcome: null, decisions: [], stopped: [], committed: null }
    return { ...nothing, ...(await judge.see()), preflight: { reason, detail } }
  }
  const removed = Object.fromEntries(prepared.removed.map(({ tool, reason }) => [tool, reason]))
  const response = responseOf(step, callsBefore + 1)
  const { decisions, outcome } = await judge.propose({
    prepared,
    response,
    read: readResponse(response),
    gate: run.gate,
    flows: step.flows,
  })
  const { stateVersion } = (await judge.see()).state
  const { receipts, stopped } = finishCalls(judge, step, response, decisions)
  if (receipts.length > 0) await judge.submit(receipts, decisions)
  const after = await judge.see()
  const committed = receipts.length === 0 ? null : after.state.stateVersion > stateVersion
  return { preflight: null, removed, outcome, decisions, stopped, committed, ...after }
}

function finishCalls(judge: Judge, step: TurnStep, response: JsonValue, decisions: readonly Decision[]) {
  const { calls } = readResponse(response)
  const stopped: (BlockReason | null)[] = []
  const receipts = decisions.flatMap((decision, at): Receipt[] => {
    const end = step.then?.[at] ?? null
    const args = calls[at]?.arguments ?? {}
    const cause = decision.pending_call_id === null || end === null ? null : stopOf(judge, decision, args, end)
    stopped.push(cause)
    if (decision.pending_call_id === null || end === null) return []
    return [receiptOf(judge.salt(), decision, args, cause === null ? end : { ...end, outcome: 'not_executed' })]
  })
  return { receipts, stopped }
}

function stopOf({ options }: Judge, decision: Decision, args: JsonObject, end: CaseEnd): BlockReason | null {
  const { checkpoints, tool_name } = decision
  if (checkpoints.length > 0 && end.answer === 'deny') return 'checkpoint_denied'
  const mayTimeOut = checkpoints.every(({ on_timeout }) => on_timeout === 'allow')
  if (end.answer === 'timeout' && !mayTimeOut) return 'checkpoint_timeout'
  return checkExecution(options.plan, tool_name, end.arguments ?? args)?.reason ?? null
}

function receiptOf(salt: string, decision: Decision, args: JsonObject, end: CaseEnd): Receipt {
  const time = new Date().toISOString()
  const argument_hash = saltedHash(salt, end.arguments ?? args)
  const result = end.result ?? null
  const isExecuted = (end.evidence ?? 'executed') === 'executed'
  const { answer } = end
  return {
    pending_call_id: decision.pending_call_id ?? '',
    outcome: end.outcome ?? 'succeeded',
    evidence_level: end.evidence ?? 'executed',
    argument_hash,
    ...(isExecuted && { result_hash: saltedHash(salt, result), started_at: time, finished_at: time }),
    outputs: readOutputs(decision.output_paths, result),
    ...(answer !== undefined && {
      approvals: decision.checkpoints.map(({ checkpoint_id }) => ({ checkpoint_id, decision: answer, argument_hash })),
    }),
  }
}

function caseOptions(run: Case, nowMs: () => number): { local: LocalSessionOptions; compiled: Compiled } {
  const sources = {
    contracts: run.contracts.map((value) => ({ file: `${value.tool}.yaml`, text: JSON.stringify(value) })),
    session: run.session === undefined ? undefined : { file: 'session.yaml', value: run.session },
  }
  const compiled = compilePlan(sources, { policy: loadPolicyEvaluator() })
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors))
  const identity = {
    sessionId: `case-${randomUUID()}`,
    holderId: 'case',
    agent: 'case-agent',
    environment: null,
    unmatchedPolicy: run.unmatchedPolicy,
    captureLevel: 'redacted' as const,
    principal: run.principal,
    labels: run.labels,
    asks: null,
    salt: 'case',
  }
  return {
    local: { identity, plan: compiled.plan, nowMs, commitOnReport: () => false, watches: false, keepsHashes: true },
    compiled: { hash: compiled.compiled_hash, session: compiled.compiled_session },
  }
}

type Compiled = Parameters<typeof createSessionApi>[0]['compiled']

function localJudge(run: Case): Judge {
  let nowMs = Date.parse(CASE_TIME)
  const { local } = caseOptions(run, () => nowMs)
  const session = createLocalSession(local)
  const { plan, identity } = local
  return {
    options: local,
    salt: () => identity.salt,
    preflight: async (request) => session.preflight(request, randomUUID()),
    propose: async (proposal) =>
      session.propose(proposal, { proposalId: randomUUID(), pendingCallId: () => randomUUID() }),
    submit: async (receipts) => session.receive(receipts),
    control(step) {
      if (step.label !== undefined) session.restrict({ label: step.label })
      if (step.filter !== undefined) session.restrict({ filter: step.filter })
      if (step.kill === true) session.kill('client')
      nowMs += (step.wait_seconds ?? 0) * 1_000
    },
    see: async () => {
      const state = session.state()
      const snapshot = snapshotOf(state, plan, { sessionId: identity.sessionId, lastNarrowing: null })
      return { state: snapshot, status: state.status, labels: state.labels }
    },
  }
}

function serverJudge(run: Case, runtime: Runtime): Judge {
  const { local, compiled } = caseOptions(run, () => Date.now())
  const { fetch, key: apiKey } = runtime
  const transport = createTransport({
    baseUrl: 'http://127.0.0.1:4319',
    apiKey,
    timeoutMs: 10_000,
    exchange: exchangeBy(fetch),
  })
  const { identity } = local
  const api = createSessionApi({
    transport,
    identity,
    compiled,
    provider: 'openai',
    workflow: null,
    principalToken: null,
    takeover: false,
  })
  const authority = createRemote({
    api,
    local,
    onError: 'block',
    maxUnguardedCalls: 0,
    onInDoubt: undefined,
    report: () => {},
    onKilled: () => {},
    advises: false,
    isShared: false,
  })
  return {
    options: local,
    salt: () => authority.saltOf('server'),
    preflight: async (request) => authority.prepare(request),
    propose: async (proposal) => authority.judge(proposal),
    submit: async (receipts) =>
      authority.settle(
        'server',
        receipts.map((receipt) => ({ call: { callId: '', toolName: '' }, receipt })),
      ),
    control(step) {
      if (step.label !== undefined) authority.control({ label: step.label })
      if (step.filter !== undefined) authority.control({ filter: step.filter })
    },
    async see() {
      const { body } = await runtime.api().loadSession({ params: { session_id: identity.sessionId } })
      const { state, status, labels } = body.session
      // The cases know another time than the server's clock.
      const lastStep = state.lastStep && { ...state.lastStep, completedAt: CASE_TIME }
      return { state: { ...state, lastStep }, status, labels }
    },
  }
}
