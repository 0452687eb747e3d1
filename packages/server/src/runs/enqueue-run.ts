import { ApiError } from '../base/api-error.js'
import { type Audited, audit } from '../context/audit.js'
import type { Context } from '../context/context.js'
import { inFind, inRead, inTransaction } from '../context/work.js'
import {
  type CapturedScope,
  countRuns,
  findRun,
  insertRun,
  lockBudget,
  type RunRow,
  type WrittenReport,
} from '../store/runs/runs.js'
import { budgetOf, type RunReply, replyOf } from './run-reply.js'

export interface NewRun {
  readonly runId: string
  readonly compiledHash: string
  /** What identifies the run: the same id with the same content gets the same reply. */
  readonly bodyHash: string
  /** Null for fixtures. */
  readonly against: CapturedScope | null
  /** Set for a run that a person starts. */
  readonly audited?: Audited
  /** Judges what can be judged at once; null where it waits for an instance. */
  judge(): Promise<WrittenReport | null>
}

/** Starts a run within the tenant's budget, counted and inserted in one transaction. */
export async function enqueueRun(ctx: Context, run: NewRun): Promise<RunReply> {
  const { tenantId } = ctx.tenant
  const find = () => inFind(ctx, (sql) => findRun(sql, tenantId, run.runId))
  const known = await find()
  if (known !== null) return repeated(ctx, run, known)
  if ((await inRead(ctx, (sql) => countRuns(sql, tenantId))) >= budgetOf(ctx)) {
    // It may have been this very run, started twice at once, that took the last place.
    const started = await find()
    if (started === null) throw overBudget(ctx)
    return repeated(ctx, run, started)
  }
  const written = await run.judge()
  const inserted = await inTransaction(ctx, async (tx) => {
    await lockBudget(tx, tenantId)
    // The same run under way twice: one that is there needs no room.
    if ((await findRun(tx, tenantId, run.runId)) !== null) return false
    if ((await countRuns(tx, tenantId)) >= budgetOf(ctx)) throw overBudget(ctx)
    const { runId, compiledHash, bodyHash, against } = run
    const isNew = await insertRun(tx, { tenantId, runId, compiledHash, bodyHash, against, written })
    if (isNew && run.audited !== undefined) await audit(tx, ctx, run.audited)
    return isNew
  })
  const stored = await find()
  if (stored === null) throw new ApiError('BUSY')
  if (!inserted) return repeated(ctx, run, stored)
  // Beside the request: the caller reads the run back when it is done.
  if (written === null) ctx.app.judgeRuns()
  return replyOf(ctx, stored, written?.report)
}

async function repeated(ctx: Context, run: NewRun, stored: RunRow): Promise<RunReply> {
  if (run.bodyHash !== stored.bodyHash) {
    throw new ApiError('INVALID_REQUEST', {
      detail: 'body.run_id: a run with this id was started with a different body',
    })
  }
  return replyOf(ctx, stored)
}

const overBudget = (ctx: Context): ApiError => new ApiError('RUN_BUDGET_EXCEEDED', { limit: budgetOf(ctx) })
