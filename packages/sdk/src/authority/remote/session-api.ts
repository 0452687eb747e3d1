import type { ReadResponse, SessionState } from '@countersign/engine'
import {
  type CompiledSession,
  type JsonValue,
  type LedgerHead,
  type NextRequest,
  type PendingCallView,
  type PreflightReply,
  type ProposalReply,
  proposalReply,
  type Receipt,
  type ReceiptsReply,
  type SessionQuestion,
  type SessionQuestions,
  type SessionStatus,
  type Usage,
} from '@countersign/protocol'
import { ReplayConfigError, ReplayContractError } from '../../base/errors.js'
import { jsonOf } from '../../base/written-json.js'
import type { PrincipalToken } from '../../options/replay-settings.js'
import type { JoinedWorkflow } from '../../options/workflow-settings.js'
import type { DecidedCall, PreflightRequest, ProposalRequest } from '../authority.js'
import type { SessionIdentity } from '../local/local-session.js'
import { isAboutContent } from '../refusals.js'
import { type CallLimits, type ReplyOf, ServiceFailure, ServiceRefusal, type Transport } from '../transport.js'

export interface SessionApiOptions {
  readonly transport: Transport
  readonly identity: Omit<SessionIdentity, 'salt'>
  readonly compiled: { readonly hash: string; readonly session: CompiledSession }
  /** Null where each turn names its own. */
  readonly provider: string | null
  readonly workflow: JoinedWorkflow | null
  readonly takeover: boolean
  /** Null: nothing proves the principal. */
  readonly principalToken: PrincipalToken | null
  /** The reply to the create, where it was made already. */
  readonly created?: ReplyOf<'createSession'> | null
}

/** The client side of one session on the server: every request, and what the replies have revealed about it so far. */
export interface SessionApi {
  /** Creates the session, or recovers one that another holder left. */
  open(limits?: CallLimits): Promise<Opened>
  preflight(preparedRequestId: string, request: PreflightRequest, limits?: CallLimits): Promise<PreflightReply>
  propose(proposal: ProposalRequest, usage: ProposalUsage, limits?: CallLimits): Promise<ProposalReply>
  /** The receipts may prepare the next turn. */
  submit(receipts: readonly Receipt[], next: NextRequest | null, limits?: CallLimits): Promise<ReceiptsReply>
  claim(call: Pick<DecidedCall, 'pendingCallId' | 'argumentHash'>, claimId: string): Promise<void>
  addLabel(label: string, limits?: CallLimits): Promise<void>
  setFilter(tools: readonly string[] | null, limits?: CallLimits): Promise<void>
  kill(): Promise<void>
  reportBypass(method: string): Promise<void>
  /** Gives the session back: it has no holder any more. */
  end(limits?: CallLimits): Promise<void>
  load(): Promise<{ readonly status: SessionStatus; readonly pending: readonly PendingCallView[] }>
  /** What people are asked in the session. With `wait`, in seconds, the reply comes as soon as its version is another. */
  questions(wait?: { readonly seconds: number; readonly after: string }): Promise<SessionQuestions>
  withdraw(questionId: string): Promise<SessionQuestion>
  /** The whole state as the server stores it. */
  loadState(): Promise<SessionState>
  known(): KnownSession
}

export interface Opened {
  readonly salt: string
  readonly startedAt: string
  /** False when the session had a history before this holder. */
  readonly fresh: boolean
  readonly inDoubt: readonly PendingCallView[]
  /** Whom a token proves; undefined where none does. */
  readonly principal: JsonValue | undefined
}

export interface KnownSession {
  readonly status: SessionStatus
  readonly fence: number
  readonly stateVersion: number
  readonly controlRevision: number
  readonly ledger: LedgerHead | null
}

/** Sends a request of a session, and learns from what comes back. `take` gets an answer before anyone else does. */
export type Exchange = <Reply>(
  send: (api: SessionApi, limits: CallLimits | undefined) => Promise<Reply>,
  take?: (reply: Reply) => void,
) => Promise<Reply>

export interface ProposalUsage {
  readonly model: string
  readonly usage: Usage | null
}

const WAIT_GRACE_S = 10

export function createSessionApi(options: SessionApiOptions): SessionApi {
  const { transport, identity } = options
  const params = { session_id: identity.sessionId }
  let known: KnownSession = { status: 'ACTIVE', fence: 0, stateVersion: 0, controlRevision: 0, ledger: null }
  /** Answers may overtake one another: only one that knows as much of the ledger is news. */
  const learn = (news: Partial<KnownSession>): void => {
    if (news.ledger && known.ledger && news.ledger.seq < known.ledger.seq) return
    known = { ...known, ...news }
  }
  const learnSession = (reply: ReplyOf<'createSession'> | ReplyOf<'recoverSession'>): void => {
    const { status, state_version, control_revision } = reply.session
    learn({
      status,
      fence: reply.fence,
      stateVersion: state_version,
      controlRevision: control_revision,
      ledger: reply.ledger,
    })
  }

  return {
    known: () => known,
    async open(limits) {
      const created = options.created ?? (await createOrFindHeld(options, limits))
      if (created !== null) {
        learnSession(created)
        // A workflow gives labels and bounds that only the server knows, and so do earlier sessions of the principal.
        const isKnown = created.session.labels.every((label) => identity.labels.includes(label))
        const fresh = created.ledger.seq === 1 && options.workflow === null && isKnown
        const { principal } = created
        return { salt: created.hash_salt, startedAt: created.session.created_at, fresh, inDoubt: [], principal }
      }
      const body = { holder_id: identity.holderId, takeover: options.takeover }
      // Before it is taken from its holder: the plan of a session never changes.
      const held = await transport.call('loadSession', { params, query: {} }, limits)
      if (held.session.compiled_hash !== options.compiled.hash) throw otherPlan(identity.sessionId)
      const recovered = await transport.call('recoverSession', { params, body }, limits)
      learnSession(recovered)
      const { hash_salt: salt, session, in_doubt: inDoubt, principal } = recovered
      return { salt, startedAt: session.created_at, fresh: false, inDoubt, principal }
    },
    async preflight(preparedRequestId, request, limits) {
      const body = {
        prepared_request_id: preparedRequestId,
        fence: known.fence,
        state_version: known.stateVersion,
        tools: request.tools.map(({ name, kind }) => ({ name, kind })),
        provider: request.provider,
        model: request.model.slice(0, 256),
        request: request.inputs,
      }
      const seen = known.ledger
      const reply = await transport.call('preflight', { params, body }, limits)
      refuseTruncated(seen, reply.ledger)
      learn(reply.outcome === 'blocked' ? { ledger: reply.ledger, status: reply.status } : { ledger: reply.ledger })
      return reply
    },
    async propose(proposal, { model, usage }, limits) {
      const body = {
        prepared_request_id: proposal.prepared.preparedRequestId,
        fence: known.fence,
        gate: proposal.gate,
        model: model.slice(0, 256),
        ...(usage !== null && { usage }),
        ...(proposal.flows !== undefined && { flows: proposal.flows }),
        ...(proposal.findBy !== undefined && { find_by: [...proposal.findBy] }),
        ...(proposal.redeems !== undefined && { redeems: redeemsOf(proposal.redeems) }),
        ...(proposal.runs !== undefined && { runs: proposal.runs }),
      }
      const { capture } = proposal
      const reply = await sendResponse(proposal, (response, isWhole) => {
        const sent = isWhole && capture !== undefined ? { ...body, response, capture } : { ...body, response }
        return transport.call('propose', { params, body: sent }, limits)
      }).catch(storedAnswer)
      const { status, state_version, control_revision, ledger } = reply
      learn({ status, stateVersion: state_version, controlRevision: control_revision, ledger })
      return reply
    },
    async submit(receipts, next, limits) {
      const body = { fence: known.fence, receipts: [...receipts], ...(next !== null && { next }) }
      const reply = await transport.call('submitReceipts', { params, body }, limits)
      const { status, state_version, control_revision, ledger } = reply
      learn({ status, stateVersion: state_version, controlRevision: control_revision, ledger })
      return reply
    },
    async claim({ pendingCallId, argumentHash }, claimId) {
      const call = { pending_call_id: pendingCallId, argument_hash: argumentHash }
      const body = { fence: known.fence, claim_id: claimId, ...call }
      const { status, control_revision, ledger } = await transport.call('claimCall', { params, body })
      learn({ status, controlRevision: control_revision, ledger })
    },
    async addLabel(label, limits) {
      await transport.call('addLabel', { params, body: { label } }, limits)
    },
    async setFilter(tools, limits) {
      const body = { fence: known.fence, tools: tools === null ? null : [...tools] }
      await transport.call('setToolFilter', { params, body }, limits)
    },
    async kill() {
      const { status } = await transport.call('killSession', { params, body: {} })
      learn({ status })
    },
    async reportBypass(method) {
      const body = { method: method.slice(0, 128) }
      const { status } = await transport.call('reportBypass', { params, body })
      learn({ status })
    },
    async end(limits) {
      await transport.call('endSession', { params, body: { fence: known.fence } }, limits)
    },
    async load() {
      const seen = known.ledger
      const { session, pending, ledger } = await transport.call('loadSession', {
        params,
        query: { include: 'pending' },
      })
      refuseTruncated(seen, ledger)
      const { status, state_version, control_revision } = session
      learn({ status, stateVersion: state_version, controlRevision: control_revision, ledger })
      return { status, pending: pending ?? [] }
    },
    questions(wait) {
      if (wait === undefined) return transport.call('listSessionQuestions', { params, query: {} })
      const { seconds, after } = wait
      const query = { wait: String(seconds), after }
      // The server keeps the answer back for so long.
      const limits = { attempts: 1, timeoutMs: (seconds + WAIT_GRACE_S) * 1_000 }
      return transport.call('listSessionQuestions', { params, query }, limits)
    },
    withdraw(questionId) {
      const body = { fence: known.fence }
      return transport.call('withdrawQuestion', { params: { ...params, question_id: questionId }, body })
    },
    async loadState() {
      const { state } = await transport.call('exportEvents', { params, query: { limit: '1' } })
      if (state === null) throw new ServiceFailure('the export of the session holds no state')
      return state as unknown as SessionState
    },
  }
}

const redeemsOf = (redeems: ReadonlyMap<string, string>) =>
  [...redeems].map(([call_id, question_id]) => ({ call_id, question_id }))

/** Who the session is for. The plan is not part of it: without one, the server chooses it. */
export async function createBodyOf(identity: Omit<SessionIdentity, 'salt'>, token: PrincipalToken | null) {
  const { sessionId, holderId, agent, environment, unmatchedPolicy, captureLevel, principal, labels, asks } = identity
  return {
    session_id: sessionId,
    holder_id: holderId,
    ...(agent !== null && { agent }),
    ...(environment !== null && { environment }),
    unmatched_policy: unmatchedPolicy,
    capture_level: captureLevel,
    ...(principal !== undefined && { principal }),
    ...(token !== null && { principal_token: await token() }),
    ...(labels.length > 0 && { labels: [...labels] }),
    ...(asks !== null && { asks }),
  }
}

/** Null when another holder has the session: the way in is then to recover it. */
async function createOrFindHeld(
  { transport, identity, compiled, provider, workflow, principalToken }: SessionApiOptions,
  limits?: CallLimits,
): Promise<ReplyOf<'createSession'> | null> {
  const { agent, environment } = identity
  const body = {
    ...(await createBodyOf(identity, principalToken)),
    compiled_hash: compiled.hash,
    ...(provider !== null && { provider }),
    ...(workflow !== null && { workflow: joinOf(workflow) }),
  }
  try {
    return await transport.call('createSession', { body }, limits)
  } catch (error) {
    if (!(error instanceof ServiceRefusal)) throw error
    if (error.code === 'SESSION_HELD') return null
    if (error.code === 'PLAN_PINNED') throw pinned(agent, environment, error)
    if (error.code !== 'PLAN_UNKNOWN') throw error
    return transport.call('createSession', { body: { ...body, compiled_session: compiled.session } }, limits)
  }
}

function joinOf({ workflowId, role, handoffId, definition }: JoinedWorkflow) {
  return {
    workflow_id: workflowId,
    role,
    ...(handoffId !== undefined && { handoff_id: handoffId }),
    ...(definition !== undefined && { definition }),
  }
}

/**
 * Sends a model's response. Where the server cannot take all of it, what was read of it is sent alone: the request is
 * not used up by the refusal, its cost must count, and its calls can still be judged.
 */
async function sendResponse<Reply>(
  { response, read }: Pick<ProposalRequest, 'response' | 'read'>,
  send: (response: JsonValue, isWhole: boolean) => Promise<Reply>,
): Promise<Reply> {
  // Hidden members of the client's objects stay behind.
  const whole = jsonOf(response)
  if (whole === undefined) return send(plainResponse(read), false)
  try {
    return await send(whole, true)
  } catch (error) {
    if (error instanceof ServiceRefusal && isAboutContent(error)) return send(plainResponse(read), false)
    throw error
  }
}

/** A call that cannot be judged goes without arguments, which blocks it. Null, where not even the calls can be read. */
function plainResponse({ content, finishReason, calls, providerRun, problems }: ReadResponse): JsonValue {
  if (problems.length > 0) return null
  return {
    content: content === null ? null : content.toWellFormed().replaceAll('\0', '\ufffd'),
    finish_reason: finishReason,
    provider_run: providerRun as unknown as JsonValue,
    tool_calls: calls.map(({ id, name, argumentsText, problem }) => ({
      id,
      name,
      arguments: problem === null ? argumentsText : null,
    })),
  }
}

/** The answer to an accepted proposal was lost on the way: the refusal of the second one brings it. */
function storedAnswer(error: unknown): ProposalReply {
  if (!(error instanceof ServiceRefusal) || error.code !== 'PREPARED_REQUEST_CONSUMED') throw error
  const stored = proposalReply.safeParse(error.problem.proposal)
  if (!stored.success) throw error
  return stored.data
}

/** A ledger only grows. One that is shorter than what this client has seen was cut. */
function refuseTruncated(seen: LedgerHead | null, head: LedgerHead): void {
  if (seen === null || head.seq > seen.seq || (head.seq === seen.seq && head.hash === seen.hash)) return
  throw new ReplayContractError(
    `the ledger of the session changed before event ${seen.seq}: the server no longer has events that it reported earlier`,
    { outcome: 'blocked', decisions: [], blocked: [] },
  )
}

function pinned(agent: string | null, environment: string | null, cause: Error): ReplayConfigError {
  return new ReplayConfigError(
    `an approved plan governs agent ${agent ?? 'default'} in ${environment}, and the given contracts compile to a different one: ` +
      'omit contracts and contractsDir to use the approved plan, or have these contracts approved',
    'compilation_failed',
    { cause },
  )
}

function otherPlan(sessionId: string): ReplayConfigError {
  return new ReplayConfigError(
    `session ${sessionId} was created with different contracts, and the rules of a session never change: use another sessionId`,
    'compilation_failed',
  )
}
