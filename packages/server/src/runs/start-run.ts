import { saltedHash } from '@countersign/engine'
import type { Input, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { makeId } from '../base/crypto/secrets.js'
import type { UserContext } from '../context/context.js'
import { inFind } from '../context/work.js'
import { findPlanRow } from '../store/governance/governance-plans.js'
import { enqueueRun } from './enqueue-run.js'
import type { RunReply } from './run-reply.js'

/** Backtests a plan against the captured sessions of its agent. */
export async function startRun(ctx: UserContext, { body }: Input<Routes['startRun']>): Promise<RunReply> {
  const plan = await inFind(ctx, (sql) => findPlanRow(sql, ctx.tenant.tenantId, body.plan_id))
  if (plan === null) throw new ApiError('NOT_FOUND')
  const { agent, compiledHash } = plan
  const against = { agent, since: null, maxSessions: body.max_sessions, unmatchedPolicy: 'block' as const }
  const runId = makeId(ctx.app.random, 'run')
  return enqueueRun(ctx, {
    runId,
    compiledHash,
    bodyHash: saltedHash(ctx.tenant.tenantId, { against, plan: compiledHash }),
    against,
    audited: { action: 'run_started', subject: body.plan_id, detail: runId },
    judge: async () => null,
  })
}
