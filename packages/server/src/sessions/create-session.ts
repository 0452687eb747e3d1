import {
  type CreatedEvent,
  chainEvent,
  claimsProof,
  hashPlan,
  identityOf,
  initialState,
  type Plan,
  PROOF_IS_RESERVED,
  saltedHash,
} from '@countersign/engine'
import { type Input, type JsonValue, LIMITS, type Reply, type Routes } from '@countersign/protocol'
import { provePrincipal, tokenRefused } from '../accounts/principals/principal-token.js'
import { refuseArchivedId } from '../archives/explain-archived.js'
import { ApiError } from '../base/api-error.js'
import { leaseMsOf } from '../change/advance.js'
import { provenPrincipalOf, sessionView } from '../change/session-view.js'
import { stickyOwnerText } from '../change/shared-limits.js'
import type { Context } from '../context/context.js'
import { IN_PLACE, NotInPlace } from '../context/in-place.js'
import { inFind, inStatement } from '../context/work.js'
import { requireAnswerers } from '../questions/require-answerers.js'
import { actsForNoPerson } from '../store/accounts/api-keys.js'
import { readClock } from '../store/clock.js'
import type { SessionChange } from '../store/sessions/session-change.js'
import type { FixedSession, SessionHead, SessionRow } from '../store/sessions/session-row.js'
import { findSession, readSession, storedLength } from '../store/sessions/sessions.js'
import { loadBeginning, type Beginning as TenantBeginning } from '../store/sessions/sticky-labels.js'
import { isTokenUsed, type UsedToken } from '../store/sessions/used-tokens.js'
import { writeChange } from '../store/sessions/write-change.js'
import { joinWorkflow, type Membership } from '../workflows/join-workflow.js'
import { type ChosenPlan, choosePlan, planForClient } from './choose-plan.js'

type Body = Input<Routes['createSession']>['body']
type Created = Reply<Routes['createSession']>

/** Creates a session and fixes its rules for life. The same create again gets the same reply. */
export async function createSession(ctx: Context, { body }: Input<Routes['createSession']>): Promise<Created> {
  refuseWrongPrincipal(body)
  if (body.workflow !== undefined && !ctx.app.config.workflows) throw new ApiError('WORKFLOWS_DISABLED')
  const asked = await withPrincipal(ctx, body)
  const existing = await find(ctx, body.session_id)
  if (existing !== null) return repeated(ctx, existing, asked)
  const chosen = await choosePlan(ctx, body)
  requireParties(chosen.plan, asked)
  await requireAnswerers(ctx, chosen.plan, body)
  const created = await create(ctx, asked, chosen)
  if (created !== null) return reply(created.session, chosen.plan, chosen.unsent)
  const winner = await find(ctx, body.session_id)
  if (winner === null) throw (await refuseArchivedId(ctx, body.session_id)) ?? new ApiError('BUSY')
  return repeated(ctx, winner, asked)
}

/** What is asked, with the principal that its token proves in place of the token. */
interface Asked {
  readonly body: Omit<Body, 'principal_token'>
  /** Null: a principal is as told. */
  readonly token: UsedToken | null
}

async function withPrincipal(ctx: Context, { principal_token, ...body }: Body): Promise<Asked> {
  if (principal_token === undefined) return { body, token: null }
  const { principal, token } = await provePrincipal(ctx, principal_token)
  return { body: { ...body, principal: principal as unknown as JsonValue }, token }
}

async function find(ctx: Context, sessionId: string): Promise<SessionRow | null> {
  const row = await inFind(ctx, (sql) => findSession(sql, ctx.tenant.tenantId, sessionId))
  if (row === null) return null
  if (ctx.app.isInPlace && storedLength(row) > IN_PLACE.stateBytes) throw new NotInPlace()
  return readSession(row)
}

/** Rules that are kept for a principal need one. */
function requireParties(plan: Plan, { body: { principal, workflow }, token }: Asked): void {
  if (plan.needsProof && token === null) throw new ApiError('PRINCIPAL_NOT_PROVEN')
  const refuse = (detail: string) => new ApiError('INVALID_REQUEST', { detail })
  if (plan.usesPolicy && principal === undefined) {
    throw refuse('body.principal: the plan has a policy, which needs a principal')
  }
  const counts = plan.shared?.needs.principal === true
  if ((counts || plan.hasStickyLabels) && stickyOwnerText(principal) === null) {
    const why = counts ? 'a limit for each principal' : 'labels that stick to the principal'
    throw refuse(`body.principal: the plan has ${why}: send the principal as text, or as an object with an id`)
  }
  if (plan.shared?.needs.workflow === true && workflow === undefined) {
    throw refuse('body.workflow: the plan has a limit for each workflow: start the session in one')
  }
}

/** Null when the id is taken. */
async function create(ctx: Context, asked: Asked, chosen: ChosenPlan): Promise<SessionChange | null> {
  const { body } = asked
  const { workflow } = body
  const { now, stickyLabels, limitSalt } = await beginning(ctx, body, chosen.plan)
  const labels = [...new Set([...(body.labels ?? []), ...stickyLabels])]
  if (labels.length > LIMITS.labelsPerSession) throw new ApiError('LABEL_LIMIT')
  const hashSalt = ctx.app.random(24).toString('base64url')
  const bodyHash = hashOfBody(body, { compiledHash: chosen.plan.hash, salt: hashSalt })
  const principalProof = await proofOf(ctx, asked, chosen.plan)
  const start = { ...chosen, principalProof, limitSalt, stickyLabels, hashSalt, bodyHash }
  if (workflow !== undefined) {
    // Its definition may be large.
    if (ctx.app.isInPlace) throw new NotInPlace()
    return joinWorkflow(ctx, { ...body, labels, workflow }, (membership) =>
      newSession(ctx, asked, { ...start, ...membership }),
    ).catch(refuseUsedToken)
  }
  const created = newSession(ctx, asked, { ...start, now, workflow: null, labels })
  const written = await inStatement(ctx, (sql) => writeChange(sql, created)).catch(refuseUsedToken)
  return written ? created : null
}

function refuseUsedToken(error: unknown): never {
  throw isTokenUsed(error) ? tokenRefused('it has opened another session (jti)') : error
}

/** The time, and what earlier sessions of the principal left. Most plans ask for the time alone. */
async function beginning(
  ctx: Context,
  { principal }: Asked['body'],
  plan: Plan,
): Promise<Omit<TenantBeginning, 'limitSalt'> & { readonly limitSalt: string | null }> {
  const owner = plan.usesLabels ? stickyOwnerText(principal) : null
  const counts = plan.shared !== null || plan.hasStickyLabels
  if (owner === null && !counts) return { now: await inFind(ctx, readClock), stickyLabels: [], limitSalt: null }
  const found = await inFind(ctx, (sql) => loadBeginning(sql, ctx.tenant.tenantId, owner))
  return { ...found, limitSalt: counts ? found.limitSalt : null }
}

/** How it is known whom the session acts for. That it is no person, only questions to people need to know. */
async function proofOf(ctx: Context, { body, token }: Asked, plan: Plan): Promise<FixedSession['principalProof']> {
  if (body.principal !== undefined) return token === null ? 'as_told' : 'proven'
  const { tenantId, keyId } = ctx.tenant
  if (keyId === null || !(plan.asksPeople || body.asks !== undefined)) return null
  return (await inFind(ctx, (sql) => actsForNoPerson(sql, tenantId, keyId))) ? 'no_person' : null
}

interface Beginning
  extends ChosenPlan,
    Pick<Membership, 'now' | 'labels'>,
    Pick<FixedSession, 'hashSalt' | 'bodyHash' | 'principalProof'> {
  readonly limitSalt: string | null
  readonly stickyLabels: readonly string[]
  readonly workflow: Membership['workflow'] | null
}

function newSession(
  ctx: Context,
  { body, token }: Asked,
  {
    plan,
    source,
    principalProof,
    upload,
    now,
    workflow,
    labels,
    limitSalt,
    stickyLabels,
    hashSalt,
    bodyHash,
  }: Beginning,
): SessionChange {
  const event: CreatedEvent = {
    type: 'created',
    at: now.toISOString(),
    body: {
      agent: body.agent ?? null,
      environment: body.environment ?? null,
      holder_id: body.holder_id,
      compiled_hash: plan.hash,
      plan_source: source,
      unmatched_policy: body.unmatched_policy,
      capture_level: body.capture_level,
      labels: [...labels],
      ...(stickyLabels.length > 0 && { sticky_labels: [...stickyLabels] }),
      has_principal: body.principal !== undefined,
      ...(principalProof !== null && { principal_proof: principalProof }),
      initial_phase: plan.phases?.initial ?? null,
      ...(body.asks !== undefined && { asks: body.asks }),
      fence: 1,
      workflow,
    },
  }
  const { session_id: _, ...first } = chainEvent(null, body.session_id, event)
  const state = initialState(plan, event)
  const fixed: FixedSession = {
    tenantId: ctx.tenant.tenantId,
    sessionId: body.session_id,
    compiledHash: plan.hash,
    planSource: source,
    unmatchedPolicy: body.unmatched_policy,
    captureLevel: body.capture_level,
    environment: body.environment ?? null,
    principal: body.principal ?? null,
    principalProof,
    hashSalt,
    limitSalt,
    workflowId: workflow?.workflow_id ?? null,
    role: workflow?.role ?? null,
    bodyHash,
    createdAt: now,
  }
  const leaseMs = leaseMsOf(state, plan)
  const head: SessionHead = {
    revision: first.hash,
    leaseUntil: new Date(now.getTime() + leaseMs),
    leaseMs,
    state,
    lastNarrowing: null,
    prepared: null,
    hasSuperseded: false,
    ledger: { seq: first.seq, hash: first.hash },
    lastEvent: 'created',
    allowedCalls: 0,
    blockedCalls: 0,
    lastReason: null,
  }
  return { session: { fixed, head, now }, head, events: [first], created: { upload, token } }
}

/** Same holder and same body: the same reply. Otherwise another holder has the session, or it is another one. */
async function repeated(ctx: Context, session: SessionRow, { body }: Asked): Promise<Created> {
  if (session.head.state.holderId !== body.holder_id) {
    throw new ApiError('SESSION_HELD', { lease_until: session.head.leaseUntil.toISOString() })
  }
  const sentHash = body.compiled_hash ?? (body.compiled_session && hashPlan(body.compiled_session))
  const { compiledHash, hashSalt: salt, bodyHash } = session.fixed
  if (hashOfBody(body, { compiledHash: sentHash ?? compiledHash, salt }) !== bodyHash) {
    throw new ApiError('SESSION_EXISTS')
  }
  const plan = await ctx.app.plans.ofSession((fn) => inFind(ctx, fn), session.fixed, 0)
  const unsent = sentHash === undefined ? await planForClient(ctx, plan) : null
  return reply(session, plan, unsent)
}

function reply(session: SessionRow, plan: Plan, unsent: ChosenPlan['unsent']): Created {
  return {
    session: sessionView(session, plan),
    fence: session.head.state.fence,
    lease_until: session.head.leaseUntil.toISOString(),
    hash_salt: session.fixed.hashSalt,
    plan_source: session.fixed.planSource,
    compiled_hash: session.fixed.compiledHash,
    ...(unsent === null ? {} : { compiled_session: unsent }),
    ...provenPrincipalOf(session),
    ledger: session.head.ledger,
  }
}

/**
 * The plan counts by its hash, whether it came along or not: the reply to an upload may be the one that was lost. A proven
 * principal counts by who it is: another token may list other groups.
 */
function hashOfBody(
  { compiled_session: _, ...rest }: Asked['body'],
  { compiledHash, salt }: { readonly compiledHash: string; readonly salt: string },
): string {
  const principal = identityOf(rest.principal)
  // What is not set is left out of it.
  return saltedHash(salt, { ...rest, principal, compiled_hash: compiledHash } as { [name: string]: JsonValue })
}

function refuseWrongPrincipal({ principal, principal_token: token }: Body): void {
  const refuse = (problem: string) => new ApiError('INVALID_REQUEST', { detail: `body.principal: ${problem}` })
  if (principal === undefined) return
  if (token !== undefined) throw refuse('send either a principal or a principal_token, which proves it')
  if (claimsProof(principal)) throw refuse(PROOF_IS_RESERVED)
  if (Buffer.byteLength(JSON.stringify(principal)) > LIMITS.principalBytes) {
    throw refuse(`larger than ${LIMITS.principalBytes} bytes`)
  }
}
