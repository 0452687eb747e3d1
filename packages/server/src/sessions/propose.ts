import { evaluateProposal, readResponse, saltedHash } from '@countersign/engine'
import type {
  CaptureItem,
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
import {
  advance,
  BEHIND_LOCK,
  BEHIND_WORKFLOW,
  changeSession,
  leaseFrom,
  type Sight,
} from '../change/change-session.js'
import { requireAuthority, requireFence, requireNothingPending, requireRecovered } from '../change/guards.js'
import { pendingCalls, standing } from '../change/view.js'
import type { Context } from '../context/context.js'
import { findContent } from '../store/sessions/content.js'
import { findPreparedRequest, type StoredRequest } from '../store/sessions/prepared-requests.js'
import { findProposal, writeProposal } from '../store/sessions/proposals.js'
import { rowAfter } from '../store/sessions/session-change.js'
import type { PreparedRequest } from '../store/sessions/session-row.js'
import { claimsResources, heldByOthers, keepHolds } from '../workflows/held-resources.js'
import { requireUsableRequest } from './prepared-request.js'
import { contentOfProposal, withoutContent } from './stored-content.js'

type Body = Input<Routes['propose']>['body']

/** Judges the model's response against the session and its contracts, and registers what is allowed, in one step. */
export async function propose(ctx: Context, { params, body }: Input<Routes['propose']>): Promise<ProposalReply> {
  const response = readResponse(body.response)
  let capture: CaptureItem | null = null
  const reply = await changeSession<ProposalReply>(ctx, params.session_id, async (sight) => {
    const { session, plan } = sight
    const found = await preparedRequest(sight, body.prepared_request_id)
    if (found === null) throw new ApiError('NOT_FOUND')
    requireAuthority(session)
    if (found.consumedAt !== null) return alreadyProposed(sight, body)
    const { request } = found
    requireFence(session, body.fence)
    requireRecovered(session)
    requireUsableRequest(session, request)
    if (request.withTools) requireNothingPending(session)
    const claims = claimsResources(session, plan, response)
    if (claims && sight.workflow === null) return BEHIND_WORKFLOW
    const workflow = claims ? sight.workflow : null

    const proposalId = makeId(ctx.random, 'prp')
    const verdict = evaluateProposal({
      plan,
      state: session.state,
      response,
      gate: body.gate,
      unmatchedPolicy: session.unmatchedPolicy,
      principal: session.principal,
      agent: session.state.agent,
      salt: session.hashSalt,
      nowMs: session.now.getTime(),
      offered: request.allowed,
      toolless: !request.withTools,
      inputFailures: new Map(request.inputFailures?.map(({ tool, failures }) => [tool, [...failures]])),
      flows: body.flows,
      heldResources: workflow === null ? undefined : await heldByOthers(sight, workflow),
      ids: { sessionId: session.sessionId, proposalId, pendingCallId: () => makeId(ctx.random, 'call') },
      provider: request.provider,
      model: body.model ?? request.model,
      usage: body.usage ?? response.usage,
    })
    const at = isoTime(session.now)
    const proposed = { type: 'proposal', at, body: eventBody(verdict.event, request) } as const satisfies SessionEvent
    const killed = { type: 'killed', at, body: { by: 'breaker' } } as const satisfies SessionEvent
    const next = advance(sight, verdict.breaker ? [proposed, killed] : [proposed])
    const leaseUntil = leaseFrom(session.now, next.state, plan)
    const { decisions } = verdict
    capture = governedCapture({ session, request, proposalId, response, decisions, flows: body.flows })
    const content = contentOfProposal(session.captureLevel, { proposalId, response, sent: body.response, decisions })
    const { state, events, ledger } = next
    const prepared = request.withTools ? null : session.prepared
    const change = { session, state, events, ledger, leaseUntil, prepared, content }
    const after = rowAfter(change)
    return {
      appends: next.events.length,
      after,
      write: async (sql, proof) => {
        const proposal = {
          id: proposalId,
          bodyHash: hashOfBody(session.hashSalt, body),
          outcome: verdict.outcome,
          decisions: withoutContent(decisions, plan),
          cost: verdict.cost,
          model: body.model ?? null,
        }
        const isWritten = await writeProposal(sql, { change, after, request, proposal }, proof)
        if (workflow === null || !isWritten) return isWritten
        await keepHolds(sql, { session, workflow, resources: verdict.resources, status: next.state.status })
        return true
      },
      reply: {
        proposal_id: proposalId,
        outcome: verdict.outcome,
        decisions: verdict.decisions,
        status: next.state.status,
        state_version: next.state.stateVersion,
        control_revision: next.state.controlRevision,
        cost: Number(verdict.cost),
        lease_until: isoTime(leaseUntil),
        ledger: next.ledger,
      },
    }
  })
  if (capture !== null) ctx.captures.note(ctx.tenantId, capture)
  for (const { decision, reason } of reply.decisions) {
    ctx.metrics.count('countersign_decisions_total', { decision, reason: reason ?? '' })
  }
  return reply
}

/** The session's newest request lies in its row; another one is looked up. Null when the session has none by this id. */
async function preparedRequest({ session, sql }: Sight, id: string): Promise<StoredRequest | null> {
  if (session.prepared?.id === id) return { request: session.prepared, consumedAt: null }
  return findPreparedRequest(sql, session, id)
}

/**
 * A prepared request is used once, so this is a refusal. It carries the decisions only when the very same proposal was
 * accepted, the same holder asks, and either its calls still wait or nothing has happened since: then its answer was
 * lost and the holder can go on.
 */
async function alreadyProposed({ session, sql, locked }: Sight, body: Body): Promise<typeof BEHIND_LOCK> {
  const refusal = (extras: Record<string, JsonValue> = {}) =>
    new ApiError('PREPARED_REQUEST_CONSUMED', { ...standing(session), ...extras })
  const accepted = await findProposal(sql, session, body.prepared_request_id)
  if (accepted === null || accepted.bodyHash !== hashOfBody(session.hashSalt, body)) throw refusal()
  // A kill may have come since the row was read.
  if (!locked) return BEHIND_LOCK
  const { state } = session
  const isHolder = state.status === 'ACTIVE' && accepted.fence === state.fence && body.fence === state.fence
  const isOpen = state.open?.proposalId === accepted.proposalId && pendingCalls(session).length > 0
  const isLast = session.ledger.seq === accepted.seq
  if (!isHolder || !(isOpen || isLast)) throw refusal()
  const { tenantId, sessionId } = session
  const kept = await findContent(sql, { tenantId, sessionId, kind: 'decisions', ref: accepted.proposalId })
  throw refusal({
    proposal: {
      proposal_id: accepted.proposalId,
      outcome: accepted.outcome,
      decisions: kept ?? (accepted.decisions as unknown as JsonValue),
      status: state.status,
      state_version: state.stateVersion,
      control_revision: state.controlRevision,
      cost: Number(accepted.cost),
      lease_until: session.leaseUntil.toISOString(),
      ledger: { ...session.ledger },
    },
  })
}

/** Field by field: a spread of so many takes ten times as long. */
const eventBody = (
  event: ReturnType<typeof evaluateProposal>['event'],
  request: PreparedRequest,
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
})

const hashOfBody = (salt: string, body: Body): string => saltedHash(salt, body as unknown as JsonValue)
