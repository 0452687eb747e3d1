import type { Plan } from '@countersign/engine'
import { ApiError } from '../base/api-error.js'
import type { Context, RecentKey } from '../context/context.js'
import { IN_PLACE, NotInPlace } from '../context/in-place.js'
import { inFind, inStatement, inTransaction } from '../context/work.js'
import { databaseTrouble } from '../postgres/database-error.js'
import type { Query } from '../postgres/sql.js'
import { changesQuestions } from '../store/questions/question-changes.js'
import type { SessionChange } from '../store/sessions/session-change.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { findSession, lockSession, readSession, type StoredSession, storedLength } from '../store/sessions/sessions.js'
import { isLimitTaken } from '../store/sessions/shared-counts.js'
import { writeChange } from '../store/sessions/write-change.js'
import { isKeyLost } from '../store/sessions/write-functions.js'
import { loadWorkflow, lockWorkflowOfSession, type WorkflowRow } from '../store/workflows/workflows.js'

/** A session as one statement read it, and the plan that governs it. */
export interface LoadedSession {
  readonly session: SessionRow
  readonly plan: Plan
  /** For further reads of the same decision. */
  readonly query: Query
  /** Nothing of the session can change until the change is written. */
  readonly locked: boolean
  /** The session's workflow where that is locked as well, else null. */
  readonly workflow: WorkflowRow | null
}

/** What an operation makes of a session: the reply, and the change that must be written before it is given. */
export type ChangeResult<Reply> =
  | { readonly reply: Reply; readonly change?: SessionChange }
  /** Written first, refused then. */
  | { readonly refusal: ApiError; readonly change: SessionChange }

/** For a decision that reads more than the session's row: it is made again under the lock. */
export const NEEDS_LOCK = Symbol('needs the lock')
/** For a decision about what the session's workflow shares: it is made again under the workflow's lock, too. */
export const NEEDS_WORKFLOW_LOCK = Symbol('needs the lock of the workflow')

type Deferred = typeof NEEDS_LOCK | typeof NEEDS_WORKFLOW_LOCK
type Outcome<Reply> = ChangeResult<Reply> | Deferred
type Decide<Reply> = (loaded: LoadedSession) => Outcome<Reply> | Promise<Outcome<Reply>>

const isDeferred = <Reply>(outcome: Outcome<Reply>): outcome is Deferred => typeof outcome === 'symbol'

/** Without the lock it is tried this often: losers of a race mostly find the second time that nothing is left to do. */
const UNLOCKED_TRIES = 2

/**
 * Decides on a session and writes the change, all or nothing.
 *
 * First without a lock: the row as it was read together with the key, and one statement whose guard is that row's
 * revision. When another request wrote or holds the row, the decision is made again from the start, finally under the lock.
 */
export async function changeSession<Reply>(
  ctx: Context,
  sessionId: string,
  decide: Decide<Reply>,
  options: ChangeOptions = {},
): Promise<Reply> {
  if (ctx.recentKey !== null) {
    const result = await tryOnRecentKey(ctx, ctx.recentKey, sessionId, decide)
    if (result !== null) return conclude(ctx, result)
    return changeSession(await ctx.recentKey.enter(), sessionId, decide, options)
  }
  let outcome = await decideFirst(ctx, sessionId, decide, options)
  if (outcome === NEEDS_LOCK) outcome = await decideUnderLock(ctx, sessionId, decide, options)
  // A workflow may be large, and what its sessions hold.
  if (outcome === NEEDS_WORKFLOW_LOCK && ctx.app.isInPlace) throw new NotInPlace()
  if (outcome === NEEDS_WORKFLOW_LOCK)
    outcome = await decideUnderLock(ctx, sessionId, decide, { ...options, workflow: true })
  if (isDeferred(outcome)) throw new Error('internal error: decide() asked for a lock it already holds')
  return conclude(ctx, outcome)
}

export interface ChangeOptions {
  /** More patience than others have. */
  readonly lockTimeoutMs?: number
  /** Decides without the plan, which is not loaded. */
  readonly withoutPlan?: boolean
}

/** Stand-in for decisions that must not read the plan; any access throws. */
export const NO_PLAN = new Proxy({} as Plan, {
  get: () => {
    throw new Error('this change is decided without a plan')
  },
})

/** After the write: counts it, remembers the row as it left it, and answers. */
function conclude<Reply>({ app }: Context, result: ChangeResult<Reply>): Reply {
  const { change } = result
  if (change !== undefined) {
    const { session, head, events } = change
    app.metrics.count('countersign_ledger_events_total', {}, events.length)
    app.sessions.remember({ fixed: session.fixed, head, now: session.now })
  }
  if ('refusal' in result) throw result.refusal
  return result.reply
}

/**
 * Decides on the row that this process wrote last, and writes by one statement whose guard is that row and the key.
 * Null when that wrote nothing, or nothing is to be written: such a reply must not be given
 * before the key was checked.
 */
async function tryOnRecentKey<Reply>(
  ctx: Context,
  recentKey: RecentKey,
  sessionId: string,
  decide: Decide<Reply>,
): Promise<ChangeResult<Reply> | null> {
  let outcome: Outcome<Reply>
  try {
    outcome = await decide(await loadForDecision(ctx, sessionId))
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
  if (isDeferred(outcome)) return null
  const { change } = outcome
  if (change === undefined || changesQuestions(change)) return null
  if (!(await writeUnlocked(ctx, change, recentKey.proof))) return null
  recentKey.isChecked = true
  return outcome
}

/** A stop is one statement, too, as long as the row is free: each of its statements waits for whatever else is judged. */
async function decideFirst<Reply>(
  ctx: Context,
  sessionId: string,
  decide: Decide<Reply>,
  options: ChangeOptions,
): Promise<Outcome<Reply>> {
  const isPatient = options.lockTimeoutMs !== undefined
  // Whether a person is still signed in is checked in the transaction that writes.
  if (isPatient && ctx.signIn !== null) return NEEDS_LOCK
  try {
    return await decideUnlocked(ctx, sessionId, decide, options)
  } catch (error) {
    // Who asks for more patience than others gets it under the lock.
    if (isPatient && databaseTrouble(error) === 'busy') return NEEDS_LOCK
    throw error
  }
}

async function decideUnlocked<Reply>(
  ctx: Context,
  sessionId: string,
  decide: Decide<Reply>,
  options: ChangeOptions,
): Promise<Outcome<Reply>> {
  let loaded = await loadForDecision(ctx, sessionId, options)
  for (let tried = 1; ; tried++) {
    const outcome = await decide(loaded)
    if (isDeferred(outcome)) return outcome
    const { change } = outcome
    if (change !== undefined && changesQuestions(change)) return NEEDS_LOCK
    if (change === undefined || (await writeUnlocked(ctx, change))) return outcome
    if (tried === UNLOCKED_TRIES) return NEEDS_LOCK
    loaded = await loadAgain(ctx, sessionId, options)
  }
}

/** False when the session was written since it was read, the key is lost, or a shared limit has no longer the room that was seen. */
async function writeUnlocked(ctx: Context, change: SessionChange, proof?: RecentKey['proof']): Promise<boolean> {
  try {
    return await inStatement(ctx, (sql) => writeChange(sql, change, proof))
  } catch (error) {
    if (isLimitTaken(error) || isKeyLost(error)) return false
    throw error
  }
}

/** How often a decision is made again because others used up a shared limit meanwhile. Each time, one of them got on. */
const LIMIT_TRIES = 20

async function decideUnderLock<Reply>(...args: Parameters<typeof decideLocked<Reply>>): Promise<Outcome<Reply>> {
  for (let tried = 1; ; tried++) {
    try {
      return await decideLocked(...args)
    } catch (error) {
      if (!isLimitTaken(error)) throw error
      if (tried === LIMIT_TRIES) throw new ApiError('BUSY')
    }
  }
}

async function decideLocked<Reply>(
  ctx: Context,
  sessionId: string,
  decide: Decide<Reply>,
  { workflow: withWorkflow = false, withoutPlan = false, ...options }: ChangeOptions & { readonly workflow?: boolean },
): Promise<Outcome<Reply>> {
  const { tenantId } = ctx.tenant
  return inTransaction(
    ctx,
    async (tx) => {
      if (withWorkflow) await lockWorkflowOfSession(tx, tenantId, sessionId)
      if (!(await lockSession(tx, tenantId, sessionId))) throw new ApiError('NOT_FOUND')
      const row = await findSession(tx, tenantId, sessionId)
      if (row === null) throw new ApiError('NOT_FOUND')
      requireShort(ctx, row, options)
      const session = readSession(row)
      const { workflowId } = session.fixed
      const workflow = withWorkflow && workflowId !== null ? await loadWorkflow(tx, tenantId, workflowId) : null
      const query: Query = (fn) => fn(tx)
      const plan = withoutPlan
        ? NO_PLAN
        : await ctx.app.plans.ofSession(query, session.fixed, ctx.request.http.bodyBytes)
      const outcome = await decide({ session, plan, query, locked: true, workflow })
      if (isDeferred(outcome)) return outcome
      if (outcome.change && !(await writeChange(tx, outcome.change))) throw new Error('a locked session was changed')
      return outcome
    },
    options,
  )
}

/** The session as it is known to be with the key, or as it is read now, without a lock. 404 when the tenant has none by this id. */
export function loadForDecision(ctx: Context, sessionId: string, options: ChangeOptions = {}): Promise<LoadedSession> {
  return ctx.session === null ? loadAgain(ctx, sessionId, options) : unlocked(ctx, ctx.session, options)
}

async function loadAgain(ctx: Context, sessionId: string, options: ChangeOptions): Promise<LoadedSession> {
  const row = await inFind(ctx, (sql) => findSession(sql, ctx.tenant.tenantId, sessionId))
  if (row === null) throw new ApiError('NOT_FOUND')
  requireShort(ctx, row, options)
  return unlocked(ctx, readSession(row), options)
}

/** A stop is done in place, whatever the state. */
function requireShort(ctx: Context, row: StoredSession, { lockTimeoutMs }: ChangeOptions): void {
  if (ctx.app.isInPlace && lockTimeoutMs === undefined && storedLength(row) > IN_PLACE.stateBytes)
    throw new NotInPlace()
}

async function unlocked(
  ctx: Context,
  session: SessionRow,
  { withoutPlan = false }: Pick<ChangeOptions, 'withoutPlan'>,
): Promise<LoadedSession> {
  const query: Query = (fn) => inFind(ctx, fn)
  const plan = withoutPlan ? NO_PLAN : await ctx.app.plans.ofSession(query, session.fixed, ctx.request.http.bodyBytes)
  return { session, plan, query, locked: false, workflow: null }
}
