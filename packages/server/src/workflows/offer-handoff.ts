import { saltedHash, termsOfOffer } from '@countersign/engine'
import { type Input, type JsonValue, LIMITS, type Reply, type Routes, type SessionEvent } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { type LoadedSession, loadForDecision } from '../change/change-session.js'
import {
  changeWorkflow,
  type LockedWorkflow,
  lockMembers,
  memberOf,
  recordOnSession,
  recordOnWorkflow,
  requireLive,
} from '../change/change-workflow.js'
import { requireAuthority, requireFence, requireRecovered } from '../change/guards.js'
import type { Context } from '../context/context.js'
import {
  countHandoffs,
  findHandoff,
  findHandoffOfHolder,
  type Handoff,
  insertHandoff,
  measureWorkflow,
} from '../store/workflows/handoffs.js'
import { loadDefinition, type WorkflowRow } from '../store/workflows/workflows.js'
import { handoffFacts, handoffView } from './handoff-view.js'

type Body = Input<Routes['offerHandoff']>['body']

/** Offers work to another role of the session's workflow. The same offer again gets the same reply. */
export async function offerHandoff(
  ctx: Context,
  { params, body }: Input<Routes['offerHandoff']>,
): Promise<Reply<Routes['offerHandoff']>> {
  const { session } = await loadForDecision(ctx, params.session_id)
  if (session.fixed.workflowId === null) {
    throw new ApiError('HANDOFF_NOT_ALLOWED', { detail: 'the session is not in a workflow' })
  }
  return changeWorkflow(ctx, session.fixed.workflowId, async (locked) => {
    const { tx, workflow } = locked
    const giver = memberOf(await lockMembers(locked, [params.session_id]), params.session_id)
    const earlier = await findHandoff(tx, workflow, body.handoff_id)
    if (earlier !== null)
      return { handoff: repeated(workflow, giver, earlier, body), ledger: giver.session.head.ledger }
    requireLive(locked)
    requireAuthority(giver.session)
    requireFence(giver.session, body.fence)
    requireRecovered(giver.session)
    const handoff = await offerOf(locked, giver, body)
    if ((await countHandoffs(tx, workflow)) >= LIMITS.handoffsPerWorkflow) throw new ApiError('WORKFLOW_LIMIT')
    if ((await measureWorkflow(tx, workflow)) >= LIMITS.workflowBytes) throw new ApiError('WORKFLOW_LIMIT')
    await insertHandoff(tx, workflow, handoff)
    const at = workflow.now.toISOString()
    const { handoffId, toRole, tools, expiresAt } = handoff
    const offered: SessionEvent = {
      type: 'handoff_offered',
      at,
      body: { ...handoffFacts({ workflow, handoff, side: 'from' }), tools },
    }
    const ledger = await recordOnSession(giver, [offered], { leaseUntil: 'renewed' })
    const facts = { handoff_id: handoffId, from_session: handoff.fromSession, to_role: toRole, tools }
    await recordOnWorkflow(tx, workflow, [
      { type: 'handoff_offered', at, body: { ...facts, expires_at: expiresAt.toISOString() } },
    ])
    return { handoff: handoffView(handoff, workflow.now), ledger }
  })
}

/** What is offered: at most what the role has, the definition's handoff lets through, and the giver was handed itself. */
async function offerOf({ tx, workflow }: LockedWorkflow, { session }: LoadedSession, body: Body): Promise<Handoff> {
  const own = await findHandoffOfHolder(tx, workflow, session.fixed.sessionId)
  if (own !== null && own.state !== 'accepted') throw new ApiError('HANDOFF_STATE', { state: own.state })
  const { now } = workflow
  const definition = await loadDefinition(tx, workflow)
  const fromRole = session.fixed.role ?? ''
  const bound = own?.bound ?? null
  const terms = termsOfOffer({ definition, fromRole, toRole: body.to_role, tools: body.tools, bound })
  if (!terms.ok) throw new ApiError('HANDOFF_NOT_ALLOWED', { detail: terms.problem })
  return {
    handoffId: body.handoff_id,
    fromSession: session.fixed.sessionId,
    fromRole,
    toRole: body.to_role,
    toSession: null,
    state: 'offered',
    tools: terms.tools,
    bound: terms.bound,
    note: body.note ?? null,
    labels: [...session.head.state.labels],
    bodyHash: hashOf(workflow, body),
    offeredAt: now,
    expiresAt: new Date(now.getTime() + body.expires_in_seconds * 1_000),
    settledAt: null,
  }
}

/** The reply to the first offer was lost. */
function repeated(workflow: WorkflowRow, { session }: LoadedSession, earlier: Handoff, body: Body) {
  const isSame = earlier.fromSession === session.fixed.sessionId && earlier.bodyHash === hashOf(workflow, body)
  if (!isSame) throw new ApiError('HANDOFF_EXISTS')
  return handoffView(earlier, workflow.now)
}

/** Without the fence: the session's next holder may repeat an offer. */
function hashOf({ keySalt }: WorkflowRow, { fence: _, ...offer }: Body): string {
  return saltedHash(keySalt, JSON.parse(JSON.stringify(offer)) as JsonValue)
}
