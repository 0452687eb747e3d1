import { applyEvent, chainEvent, type Plan, type SessionState } from '@countersign/engine'
import { type LedgerHead, LIMITS, type SessionEvent } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context, Passing } from '../context/context.js'
import type { Queryable } from '../postgres/sql.js'
import type { KeyProof } from '../store/sessions/key-proof.js'
import type { NewEvent } from '../store/sessions/ledger.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { loadSession, lockSession } from '../store/sessions/sessions.js'
import { loadWorkflow, lockWorkflowOfSession, type WorkflowRow } from '../store/workflows/workflows.js'

/** A session as one statement saw it, and the plan that governs it. */
export interface Sight {
  readonly session: SessionRow
  readonly plan: Plan
  /** For further reads of the same decision. */
  readonly sql: Queryable
  /** Nothing of the session can change until the decision is written. */
  readonly locked: boolean
  /** The session's workflow where that is locked as well, else null. */
  readonly workflow: WorkflowRow | null
}

/** What was decided: the answer, and what must be kept before it is given. */
export type Decided<Reply> = (
  | { readonly reply: Reply; readonly write?: Write }
  /** Kept first, refused then. */
  | { readonly refusal: ApiError; readonly write: Write }
) & {
  /** How many events the write appends, for the metrics; one unless said. */
  readonly appends?: number
  /** The session's row as the write leaves it, where that is known: the next turn need not read it. */
  readonly after?: SessionRow
}

/** False when the session was written since it was seen, or the key that it is to prove is not valid any more. */
export type Write = (sql: Queryable, proof?: KeyProof) => Promise<boolean>

/** For a decision that reads more than the session's row: it is made again behind the lock. */
export const BEHIND_LOCK = Symbol('behind the lock')
/** For a decision about what the session's workflow shares: it is made again behind the workflow's lock, too. */
export const BEHIND_WORKFLOW = Symbol('behind the lock of the workflow')

type Deferred = typeof BEHIND_LOCK | typeof BEHIND_WORKFLOW
type Decision<Reply> = Decided<Reply> | Deferred
type Decide<Reply> = (sight: Sight) => Decision<Reply> | Promise<Decision<Reply>>

const isDeferred = <Reply>(decided: Decision<Reply>): decided is Deferred =>
  decided === BEHIND_LOCK || decided === BEHIND_WORKFLOW

/** Without the lock it is tried this often: losers of a race mostly find on a second look that nothing is left to do. */
const UNLOCKED_TRIES = 2

/**
 * Decides on a session and writes the decision, all or nothing.
 *
 * First without a lock: the row as it was read together with the key, and one statement whose guard is that row's
 * revision. When somebody else wrote or holds the row, the decision is made again from the start, in the end lock first.
 */
export async function changeSession<Reply>(
  ctx: Context,
  sessionId: string,
  decide: Decide<Reply>,
  options: { readonly lockTimeoutMs?: number } = {},
): Promise<Reply> {
  if (ctx.passing) {
    const passed = await decideByPass(ctx, ctx.passing, sessionId, decide)
    if (passed !== null) return finish(ctx, sessionId, passed)
    return changeSession(await ctx.passing.enter(), sessionId, decide, options)
  }
  // Who asks for more patience than others gets it only behind the lock.
  const isPatient = options.lockTimeoutMs !== undefined
  let decided: Decision<Reply> = isPatient ? BEHIND_LOCK : await decideUnlocked(ctx, sessionId, decide)
  if (decided === BEHIND_LOCK) decided = await decideLocked(ctx, sessionId, decide, options)
  if (decided === BEHIND_WORKFLOW) decided = await decideLocked(ctx, sessionId, decide, { ...options, workflow: true })
  if (isDeferred(decided)) throw new Error('a decision asked for a lock that it has')
  return finish(ctx, sessionId, decided)
}

function finish<Reply>(ctx: Context, sessionId: string, decided: Decided<Reply>): Reply {
  if (decided.write) ctx.metrics.count('countersign_ledger_events_total', {}, decided.appends ?? 1)
  if (decided.after) ctx.sessions.keep(decided.after)
  else if (decided.write) ctx.sessions.forget(sessionId)
  return answer(decided)
}

/**
 * Decides on the row that this process wrote last, and writes by one statement whose guard is that row and the key.
 * Null when that wrote nothing, or nothing is to be written: such an answer may be given to nobody whose key was not
 * asked for.
 */
async function decideByPass<Reply>(
  ctx: Context,
  passing: Passing,
  sessionId: string,
  decide: Decide<Reply>,
): Promise<Decided<Reply> | null> {
  let decided: Decision<Reply>
  try {
    decided = await decide(await seeSession(ctx, sessionId))
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
  if (isDeferred(decided)) return null
  const { write } = decided
  if (write === undefined || !(await ctx.single((sql) => write(sql, passing.proof)))) return null
  passing.isOpen = false
  return decided
}

async function decideUnlocked<Reply>(ctx: Context, sessionId: string, decide: Decide<Reply>): Promise<Decision<Reply>> {
  let sight = await seeSession(ctx, sessionId)
  for (let tried = 1; ; tried++) {
    const decided = await decide(sight)
    if (isDeferred(decided)) return decided
    const { write } = decided
    if (write === undefined || (await ctx.single((sql) => write(sql)))) return decided
    if (tried === UNLOCKED_TRIES) return BEHIND_LOCK
    sight = await seeAgain(ctx, sessionId)
  }
}

async function decideLocked<Reply>(
  ctx: Context,
  sessionId: string,
  decide: Decide<Reply>,
  { workflow: withWorkflow = false, ...options }: { readonly workflow?: boolean; readonly lockTimeoutMs?: number },
): Promise<Decision<Reply>> {
  const { tenantId } = ctx
  return ctx.transaction(async (tx) => {
    if (withWorkflow) await lockWorkflowOfSession(tx, tenantId, sessionId)
    if (!(await lockSession(tx, tenantId, sessionId))) throw new ApiError('NOT_FOUND')
    const session = await loadSession(tx, tenantId, sessionId)
    if (session === null) throw new ApiError('NOT_FOUND')
    const workflow =
      withWorkflow && session.workflowId !== null ? await loadWorkflow(tx, tenantId, session.workflowId) : null
    const plan = await ctx.plans.ofSession(tx, session)
    const decided = await decide({ session, plan, sql: tx, locked: true, workflow })
    if (isDeferred(decided)) return decided
    if (decided.write && !(await decided.write(tx))) throw new Error('a locked session was changed')
    return decided
  }, options)
}

/** The session as it was read with the key, without a lock. 404 when the tenant has none by this id. */
export async function seeSession(ctx: Context, sessionId: string): Promise<Sight> {
  const { session } = ctx
  if (session === null) return seeAgain(ctx, sessionId)
  return { session, plan: await ctx.plans.ofSession(ctx.sql, session), sql: ctx.sql, locked: false, workflow: null }
}

async function seeAgain(ctx: Context, sessionId: string): Promise<Sight> {
  const session = await loadSession(ctx.sql, ctx.tenantId, sessionId)
  if (session === null) throw new ApiError('NOT_FOUND')
  return { session, plan: await ctx.plans.ofSession(ctx.sql, session), sql: ctx.sql, locked: false, workflow: null }
}

function answer<Reply>(decided: Decided<Reply>): Reply {
  if ('refusal' in decided) throw decided.refusal
  return decided.reply
}

/** The session after these events, and the events chained to its ledger. `first`: after the first, where that is known. */
export function advance(
  { session, plan }: Pick<Sight, 'session' | 'plan'>,
  events: readonly SessionEvent[],
  first?: SessionState,
): { state: SessionState; events: NewEvent[]; ledger: LedgerHead } {
  let { state, ledger } = session
  const chained: NewEvent[] = []
  for (const event of events) {
    const { seq, type, at, body, prev_hash, hash } = chainEvent(ledger, session.sessionId, event)
    state = first !== undefined && chained.length === 0 ? first : applyEvent(state, event, plan)
    ledger = { seq, hash }
    chained.push({ seq, type, at, body, prev_hash, hash })
  }
  return { state, events: chained, ledger }
}

/** Two minutes from now, and as much longer as the calls under way may take. */
export function leaseFrom(now: Date, state: SessionState, plan: Plan): Date {
  const running = (state.open?.calls ?? []).filter((call) => call.state !== 'resolved').map((call) => call.tool_name)
  const callsMs = running.length === 0 ? 0 : plan.longestTimeoutMs(running)
  return new Date(now.getTime() + LIMITS.leaseSeconds * 1_000 + callsMs)
}
