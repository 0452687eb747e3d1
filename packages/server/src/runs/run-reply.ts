import type { Reply, Routes, RunView } from '@countersign/protocol'
import type { Context } from '../context/context.js'
import { inRead } from '../context/work.js'
import { WrittenReply } from '../context/written-reply.js'
import { countRuns, findReport, type RunRow } from '../store/runs/runs.js'

export type RunReply = WrittenReply<Reply<Routes['createRun']>>

export const budgetOf = ({ app, tenant }: Context): number => app.config.quotas[tenant.quota].runs

/** A run with its report, which is read here where it is not at hand. */
export async function replyOf(ctx: Context, run: RunRow, judged?: string): Promise<RunReply> {
  const { tenantId } = ctx.tenant
  const report = judged ?? (run.hasReport ? await inRead(ctx, (sql) => findReport(sql, tenantId, run.runId)) : null)
  const used = await inRead(ctx, (sql) => countRuns(sql, tenantId))
  const budget = JSON.stringify({ used, limit: budgetOf(ctx) })
  return new WrittenReply(`{"run":${runText(run, report)},"budget":${budget}}`)
}

/** A run as JSON, with its report as it is stored: to parse and write five megabytes takes a tenth of a second. */
export function runText(run: RunRow, report: string | null): string {
  const view: Omit<RunView, 'report'> = {
    run_id: run.runId,
    status: run.status,
    sessions_done: run.sessionsDone,
    created_at: run.createdAt.toISOString(),
    finished_at: run.finishedAt?.toISOString() ?? null,
    compiled_hash: run.compiledHash,
    error: run.error,
  }
  return `${JSON.stringify(view).slice(0, -1)},"report":${report ?? 'null'}}`
}
