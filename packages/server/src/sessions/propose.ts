import {
  evaluateProposal,
  type Plan,
  type ReadResponse,
  readResponse,
  saltedHash,
  type Verdict,
} from '@countersign/engine'
import type {
  Block,
  CaptureItem,
  Decision,
  Input,
  JsonValue,
  LedgerBody,
  ProposalReply,
  Routes,
  SessionEvent,
} from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { makeId } from '../base/crypto/secrets.js'
import { isoTime } from '../base/iso-time.js'
import { governedCapture } from '../captures/governed-capture.js'
import { advance } from '../change/advance.js'
import {
  type ChangeResult,
  changeSession,
  type LoadedSession,
  NEEDS_LOCK,
  NEEDS_WORKFLOW_LOCK,
} from '../change/change-session.js'
import { requireAuthority, requireFence, requireNothingPending, requireRecovered } from '../change/guards.js'
import { pendingCalls, sessionProblem } from '../change/session-view.js'
import { countsOfProposal, loadSharedCounts, stickyLabelsOfProposal } from '../change/shared-limits.js'
import type { Context } from '../context/context.js'
import { decisionsFit, decisionsHash } from '../ledgers/content-check.js'
import type { Query } from '../postgres/sql.js'
import { type KnownPeople, peopleFor } from '../questions/people.js'
import { QuestionsChanged, withCurrentQuestions } from '../questions/renew-questions.js'
import { loadEventsAt } from '../store/sessions/ledger.js'
import { findPreparedRequest, type StoredRequest } from '../store/sessions/prepared-requests.js'
import { findProposal } from '../store/sessions/proposals.js'
import type { PreparedRequest, SessionRow } from '../store/sessions/session-row.js'
import { loadDecisions } from '../store/sessions/stored-turns.js'
import type { WorkflowRow } from '../store/workflows/workflows.js'
import { claimsResources, heldByOthers, holdResources } from '../workflows/held-resources.js'
import { requireUsableRequest } from './prepared-request.js'
import { contentOfProposal, withoutContent } from './stored-content.js'

type Body = Input<Routes['propose']>['body']

/** What a proposal leads to beside its write. */
interface Proposed {
  readonly reply: ProposalReply
  readonly capture: CaptureItem | null
}

/** Judges the model's response against the session and its contracts, and registers what is allowed, in one step. */
export async function propose(ctx: Context, { params, body }: Input<Routes['propose']>): Promise<ProposalReply> {
  const response = readResponse(body.response)
  const decide = async (loaded: LoadedSession) => {
    const { session, plan } = loaded
    const found = await preparedRequest(loaded, body.prepared_request_id)
    if (found === null) throw new ApiError('NOT_FOUND')
    requireAuthority(session)
    if (found.consumedAt !== null) return alreadyProposed(loaded, body)
    const { request } = found
    requireFence(session, body.fence)
    requireRecovered(session)
    requireUsableRequest(session, request)
    if (request.withTools) requireNothingPending(session)
    const claims = claimsResources(session, plan, response)
    if (claims && loaded.workflow === null) return NEEDS_WORKFLOW_LOCK
    const workflow = claims ? loaded.workflow : null
    const heldResources = workflow === null ? undefined : await heldByOthers(loaded, workflow)
    const shared = plan.shared === null ? undefined : await loadSharedCounts(loaded, response)
    const known = await peopleFor(ctx, loaded, response, body)
    if (known !== null && known.changed.length > 0) throw new QuestionsChanged(known.changed)
    const proposal = { body, response, request, workflow, heldResources, shared, known }
    return judge(ctx, loaded, proposal)
  }
  const { reply, capture } = await withCurrentQuestions(ctx, params.session_id, () =>
    changeSession<Proposed>(ctx, params.session_id, decide),
  )
  if (capture !== null) ctx.app.captures.note(ctx.tenant.tenantId, capture)
  for (const { decision, reason, reasons } of reply.decisions) {
    ctx.app.metrics.count('countersign_decisions_total', { decision, reason: reason ?? '' })
    if (reason === 'policy_denied') notePolicyError(ctx, params.session_id, reasons)
  }
  return reply
}

/** A policy that failed is for its owner to mend. What it said of the principal or the arguments is content. */
function notePolicyError({ app, tenant }: Context, sessionId: string, reasons: readonly Block[]): void {
  const failed = reasons.find(({ detail }) => detail === 'policy_error')
  if (failed === undefined) return
  app.metrics.count('countersign_policy_errors_total')
  const fields = { tenant_id: tenant.tenantId, session_id: sessionId, contract_file: failed.contract_file ?? null }
  app.log.warn(fields, 'a policy failed on a call, which is blocked: it reads or compares what the call does not have')
}

interface Proposal {
  readonly body: Body
  readonly response: ReadResponse
  readonly request: PreparedRequest
  /** Where the calls work on what its sessions share. */
  readonly workflow: WorkflowRow | null
  readonly heldResources: Awaited<ReturnType<typeof heldByOthers>> | undefined
  readonly shared: Awaited<ReturnType<typeof loadSharedCounts>> | undefined
  /** Null: no call can ask people. */
  readonly known: KnownPeople | null
}

function judge(
  { app: { random } }: Context,
  loaded: LoadedSession,
  { body, response, request, workflow, heldResources, shared, known }: Proposal,
): ChangeResult<Proposed> {
  const { session, plan } = loaded
  const { fixed, now } = session
  const { state: before } = session.head
  const proposalId = makeId(random, 'prp')
  const verdict = evaluateProposal({
    plan,
    state: before,
    response,
    gate: body.gate,
    unmatchedPolicy: fixed.unmatchedPolicy,
    principal: fixed.principal,
    agent: before.agent,
    salt: fixed.hashSalt,
    nowMs: now.getTime(),
    offered: request.allowed,
    toolless: !request.withTools,
    inputFailures: new Map(request.inputFailures?.map(({ tool, failures }) => [tool, [...failures]])),
    flows: body.flows,
    heldResources,
    shared,
    ids: { sessionId: fixed.sessionId, proposalId, pendingCallId: () => makeId(random, 'call') },
    provider: request.provider,
    model: body.model ?? request.model,
    usage: body.usage ?? response.usage,
    people: known?.people ?? null,
  })
  const { decisions, outcome, cost } = verdict
  const content = contentOfProposal(fixed.captureLevel, { proposalId, response, sent: body.response, decisions })
  const hash = decisionsHash(fixed.hashSalt, content)
  const kept = withoutContent(decisions, plan)
  const at = isoTime(now)
  const proposed = {
    type: 'proposal',
    at,
    body: eventBody(verdict.event, request, hash),
  } as const satisfies SessionEvent
  const killed = { type: 'killed', at, body: { by: 'breaker' } } as const satisfies SessionEvent
  const { head, events } = advance(loaded, verdict.breaker ? [proposed, killed] : [proposed], {
    leaseUntil: 'renewed',
    prepared: request.withTools ? null : session.head.prepared,
  })
  const { state } = head
  return {
    change: {
      session,
      head,
      events,
      proposal: {
        id: proposalId,
        request,
        bodyHash: hashOfBody(fixed.hashSalt, body),
        outcome,
        decisions: kept,
        uncovered: uncoveredOf(decisions, plan),
        cost,
        model: body.model ?? null,
      },
      content,
      findBy: body.find_by === undefined ? NO_IDS : [...new Set(body.find_by)].sort(),
      counts: countsOfProposal(session, verdict),
      sticky: stickyLabelsOfProposal(loaded, verdict.event),
      questions:
        verdict.questions.length === 0
          ? undefined
          : {
              asked: verdict.questions.map((question) => ({
                ...question,
                proposalId,
                requester: known?.requester ?? null,
              })),
            },
      workflow:
        workflow === null
          ? undefined
          : holdResources({ session, workflow, resources: verdict.resources, status: state.status }),
    },
    reply: {
      capture: governedCapture({
        session,
        request,
        proposalId,
        response,
        decisions,
        flows: body.flows,
        capture: body.capture,
      }),
      reply: {
        proposal_id: proposalId,
        outcome,
        decisions,
        status: state.status,
        state_version: state.stateVersion,
        control_revision: state.controlRevision,
        cost: Number(cost),
        lease_until: isoTime(head.leaseUntil),
        ledger: head.ledger,
      },
    },
  }
}

const uncoveredOf = (decisions: readonly Decision[], plan: Plan): number[] =>
  decisions.flatMap(({ index, tool_name }) => (plan.contracts.has(tool_name) ? [] : [index]))

const NO_IDS: readonly string[] = []

/** The session's newest request lies in its row; another one is looked up. Null when the session has none by this id. */
async function preparedRequest({ session, query }: LoadedSession, id: string): Promise<StoredRequest | null> {
  if (session.head.prepared?.id === id) return { request: session.head.prepared, consumedAt: null }
  return query((sql) => findPreparedRequest(sql, session, id))
}

/**
 * A prepared request is used once, so this is a refusal. It carries the decisions only when the very same proposal was
 * accepted, the same holder asks, and either its calls still wait or nothing has happened since: then its reply was
 * lost and the holder can go on.
 */
async function alreadyProposed(loaded: LoadedSession, body: Body): Promise<typeof NEEDS_LOCK> {
  const { session, query, locked } = loaded
  // A holder that has lost the session hears that first: another preflight would not help.
  if (body.fence !== session.head.state.fence) throw new ApiError('FENCE_STALE', sessionProblem(session))
  const refusal = (extras: Record<string, JsonValue> = {}) =>
    new ApiError('PREPARED_REQUEST_CONSUMED', { ...sessionProblem(session), ...extras })
  const accepted = await query((sql) => findProposal(sql, session, body.prepared_request_id))
  if (accepted === null || accepted.bodyHash !== hashOfBody(session.fixed.hashSalt, body)) throw refusal()
  // A kill may have come since the row was read.
  if (!locked) return NEEDS_LOCK
  const { state } = session.head
  const isHolder = state.status === 'ACTIVE' && accepted.fence === state.fence && body.fence === state.fence
  const isOpen = state.open?.proposalId === accepted.proposalId && pendingCalls(session).length > 0
  const isLast = session.head.ledger.seq === accepted.seq
  if (!isHolder || !(isOpen || isLast)) throw refusal()
  const decisions = await decisionsOf(query, session, accepted.seq)
  if (decisions === null) throw refusal()
  throw refusal({
    proposal: {
      proposal_id: accepted.proposalId,
      outcome: accepted.outcome,
      decisions: decisions as unknown as JsonValue,
      status: state.status,
      state_version: state.stateVersion,
      control_revision: state.controlRevision,
      cost: Number(accepted.cost),
      lease_until: session.head.leaseUntil.toISOString(),
      ledger: { ...session.head.ledger },
    },
  })
}

/** The decisions of a proposal as they were given. Null when what is stored does not fit the ledger: it was changed. */
async function decisionsOf(query: Query, { fixed }: SessionRow, seq: number): Promise<Decision[] | null> {
  const [event] = await query((sql) => loadEventsAt(sql, fixed, [seq]))
  const stored = await query((sql) => loadDecisions(sql, fixed, seq))
  if (event === undefined || stored === null) return null
  const fit = decisionsFit(fixed.hashSalt, event.body as unknown as LedgerBody<'proposal'>, stored)
  return fit ? (stored.fullDecisions ?? stored.decisions) : null
}

/** Field by field: a spread of so many takes ten times as long. */
const eventBody = (
  event: Verdict['event'],
  request: PreparedRequest,
  decisions_hash: string | undefined,
): LedgerBody<'proposal'> => ({
  proposal_id: event.proposal_id,
  prepared_request_id: request.id,
  prepared_digest: request.digest,
  response_hash: event.response_hash,
  gate: event.gate,
  model: event.model,
  usage: event.usage,
  cost: event.cost,
  outcome: event.outcome,
  calls: event.calls,
  provider_run: event.provider_run,
  ...(event.provider_calls !== undefined && { provider_calls: event.provider_calls }),
  ...(event.draws !== undefined && { draws: event.draws }),
  ...(event.blocks_before !== undefined && { blocks_before: event.blocks_before }),
  ...(decisions_hash !== undefined && { decisions_hash }),
})

const hashOfBody = (salt: string, body: Body): string => saltedHash(salt, body as unknown as JsonValue)
