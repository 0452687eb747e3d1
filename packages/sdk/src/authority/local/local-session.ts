import {
  applyEvent,
  applyProposal,
  type CreatedEvent,
  evaluateProposal,
  initialState,
  judgeInputInvariants,
  judgeReceipts,
  narrowTools,
  type Plan,
  preflightBlock,
  type SessionState,
  type SharedCounts,
  tripsOnBlock,
  type Verdict,
} from '@countersign/engine'
import type {
  CaptureLevel,
  Decision,
  Environment,
  JsonValue,
  LedgerBody,
  LedgerEventType,
  Receipt,
  SessionEvent,
  UnmatchedPolicy,
} from '@countersign/protocol'
import { timeText } from '../../base/time-text.js'
import type {
  Narrowed,
  PreflightRequest,
  PreflightResult,
  ProposalRequest,
  ProposalVerdict,
  Restriction,
} from '../authority.js'

/** What a session is, apart from its state. */
export interface SessionIdentity {
  readonly sessionId: string
  readonly holderId: string
  readonly agent: string | null
  readonly environment: Environment | null
  readonly unmatchedPolicy: UnmatchedPolicy
  readonly captureLevel: CaptureLevel
  readonly principal: JsonValue | undefined
  readonly labels: readonly string[]
  /** Every checkpoint asks people; null: those that say so. */
  readonly asks: 'people' | null
  readonly salt: string
}

/** A session judged in this process by the same engine as on the server. Nothing here waits. */
export interface LocalSession {
  readonly plan: Plan
  readonly salt: string
  readonly principal: JsonValue | undefined
  state(): SessionState
  /** What a request with these tools would be narrowed to at present. */
  narrow(tools: PreflightRequest['tools']): Narrowed
  preflight(request: PreflightRequest, preparedRequestId: string): PreflightResult
  /** Repeats that the server refused to prepare a request. */
  blockTurn(body: LedgerBody<'turn_blocked'>): void
  propose(proposal: ProposalRequest, ids: MadeIds): ProposalVerdict
  /** What this copy would have decided about the same response. */
  judge(proposal: ProposalRequest, decisions: readonly Decision[]): readonly Decision[]
  /** Repeats what the server decided about the same response. Throws when this copy would have decided otherwise. */
  follow(proposal: ProposalRequest, decisions: readonly Decision[], proposalId: string): void
  receive(receipts: readonly Receipt[]): void
  restrict(by: Restriction): void
  kill(by: LedgerBody<'killed'>['by']): void
  bypass(method: string): void
  restore(state: SessionState): void
  /** An independent copy for the time without a server. */
  fork(options: Pick<LocalSessionOptions, 'watches'>): LocalSession
}

export interface MadeIds {
  readonly proposalId: string
  pendingCallId(index: number): string
}

export interface LocalSessionOptions {
  readonly identity: SessionIdentity
  readonly plan: Plan
  readonly nowMs: () => number
  /** True where the program gave no tools to wrap: there is no stronger evidence than its report, so that commits. */
  readonly commitOnReport: () => boolean
  /** True where the session only watches or advises: then no person is asked and the circuit breaker kills nothing. */
  readonly watches: boolean
  /** False where neither a server, nor a store, nor a wrapped tool has a use for the hashes of what was allowed. */
  readonly keepsHashes: boolean
}

export function createLocalSession(options: LocalSessionOptions, start?: SessionState): LocalSession {
  const { identity, plan, nowMs } = options
  let state = start ?? initialState(plan, createdEvent(identity, plan, nowMs()))

  const apply = <Type extends LedgerEventType>(type: Type, body: LedgerBody<Type>): void => {
    state = applyEvent(state, { type, at: timeText(nowMs()), body } as SessionEvent, plan)
  }
  const kill = (by: LedgerBody<'killed'>['by']): void => {
    if (state.status !== 'KILLED') apply('killed', { by })
  }
  const trip = (breaker: boolean): void => {
    if (breaker && !options.watches) kill('breaker')
  }
  /** Where nothing is enforced, nothing was blocked. */
  const blockTurn = (body: LedgerBody<'turn_blocked'>): void => {
    if (options.watches) return
    apply('turn_blocked', body)
    trip(tripsOnBlock(plan, state.consecutiveBlocks))
  }
  // What all sessions use together is known to the server alone.
  const unknownCounts: SharedCounts | undefined =
    plan.shared === null || options.watches
      ? undefined
      : {
          salt: '',
          party: { principal: identity.principal, agent: identity.agent, workflowId: null },
          used: () => null,
        }
  const evaluate = (proposal: ProposalRequest, ids: MadeIds, atMs: number, shared?: SharedCounts): Verdict => {
    const { tools, provider, model, inputs } = proposal.prepared.request
    const response = proposal.read
    return evaluateProposal({
      plan,
      state,
      response,
      gate: proposal.gate,
      unmatchedPolicy: identity.unmatchedPolicy,
      principal: identity.principal,
      agent: identity.agent,
      salt: identity.salt,
      nowMs: atMs,
      offered: proposal.prepared.allowed,
      toolless: tools.length === 0,
      inputFailures: judgeInputInvariants({ plan, state, salt: identity.salt }, inputs),
      flows: proposal.flows,
      shared,
      ids: { sessionId: identity.sessionId, proposalId: ids.proposalId, pendingCallId: ids.pendingCallId },
      provider,
      model: response.model ?? model,
      usage: response.usage,
      responseHash: NO_DIGEST,
      evidence: options.commitOnReport() ? 'reported' : 'contract',
      asks: !options.watches,
      people: null,
      keepsHashes: options.keepsHashes,
    })
  }
  /** With the ids that the server gave the calls. */
  const evaluateAs = (
    proposal: ProposalRequest,
    decisions: readonly Decision[],
    proposalId: string,
    atMs: number,
  ): Verdict => {
    const ids = new Map(decisions.map(({ index, pending_call_id: id }) => [index, id]))
    return evaluate(proposal, { proposalId, pendingCallId: (index) => ids.get(index) ?? '' }, atMs)
  }
  const narrow = (tools: PreflightRequest['tools'], shared?: SharedCounts) =>
    narrowTools({
      plan,
      state,
      tools,
      unmatchedPolicy: identity.unmatchedPolicy,
      principal: identity.principal,
      agent: identity.agent,
      nowMs: nowMs(),
      shared,
    })
  const record = ({ event, breaker }: Verdict, atMs: number): void => {
    const { totalBlocks, consecutiveBlocks } = state
    state = applyProposal(state, { body: event, at: timeText(atMs) }, plan)
    if (options.watches && state.totalBlocks > totalBlocks) state = { ...state, totalBlocks, consecutiveBlocks }
    trip(breaker)
  }

  return {
    plan,
    salt: identity.salt,
    principal: identity.principal,
    state: () => state,
    narrow,
    blockTurn,
    preflight(request, preparedRequestId) {
      const { provider, model } = request
      const toolless = request.tools.length === 0
      const blocked = preflightBlock({ plan, state, nowMs: nowMs(), provider, model, toolless, shared: unknownCounts })
      if (blocked !== null) {
        const { reason, detail, remedy } = blocked
        blockTurn({ prepared_request_id: preparedRequestId, reason, detail, model })
        return { outcome: 'blocked', by: 'local', reason, detail, remedy }
      }
      const { allowed, removed } = narrow(request.tools, unknownCounts)
      return { outcome: 'prepared', by: 'local', preparedRequestId, request, allowed, removed }
    },
    propose(proposal, ids) {
      const atMs = nowMs()
      const verdict = evaluate(proposal, ids, atMs, unknownCounts)
      record(verdict, atMs)
      return { by: 'local', outcome: verdict.outcome, decisions: verdict.decisions }
    },
    judge: (proposal, decisions) => evaluateAs(proposal, decisions, '', nowMs()).decisions,
    follow(proposal, decisions, proposalId) {
      const atMs = nowMs()
      const verdict = evaluateAs(proposal, decisions, proposalId, atMs)
      const decided = new Map(decisions.map(({ index, decision }) => [index, decision]))
      const agrees = verdict.decisions.every(({ index, decision }) => decided.get(index) === decision)
      if (!agrees) throw new Error('the server knows something about the session that this replica does not')
      record(verdict, atMs)
    },
    receive(receipts) {
      const { fence } = state
      const at = timeText(nowMs())
      const judged = judgeReceipts({ plan, state, receipts, fence, salt: identity.salt, at })
      state = judged.state
      if (judged.argumentsChanged.length > 0) apply('bypass', { method: null, cause: 'arguments_changed' })
      trip(judged.breaker)
    },
    restrict(by) {
      if ('filter' in by) apply('tool_filter', { tools: by.filter === null ? null : [...by.filter] })
      else if (!state.labels.includes(by.label)) apply('label', { label: by.label })
    },
    kill,
    bypass: (method) => apply('bypass', { method, cause: 'bypass' }),
    restore(restored) {
      state = restored
    },
    fork: (changed) => createLocalSession({ ...options, ...changed }, state),
  }
}

/** Only a server's ledger has digests of prepared requests. */
const NO_DIGEST = '0'.repeat(64)

function createdEvent(identity: SessionIdentity, plan: Plan, atMs: number): CreatedEvent {
  return {
    type: 'created',
    at: timeText(atMs),
    body: {
      agent: identity.agent,
      environment: identity.environment,
      holder_id: identity.holderId,
      compiled_hash: plan.hash,
      plan_source: 'client',
      unmatched_policy: identity.unmatchedPolicy,
      capture_level: identity.captureLevel,
      labels: [...identity.labels],
      has_principal: identity.principal !== undefined,
      ...(identity.principal !== undefined && { principal_proof: 'as_told' as const }),
      initial_phase: plan.phases?.initial ?? null,
      ...(identity.asks !== null && { asks: identity.asks }),
      fence: 1,
      workflow: null,
    },
  }
}
