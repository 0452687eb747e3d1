import { planRates } from '@countersign/engine'
import { surpriseLevelSchema } from '@countersign/protocol'
import { JOBS_SHARE } from '../../base/work/piece-of-work.js'
import { createUsedTime } from '../../base/work/used-time.js'
import type { Services } from '../../context/context.js'
import {
  type Approval,
  countPlanUse,
  findSurprise,
  putOffApprovals,
  setNoRates,
  setPlanDrift,
  takeApprovals,
} from '../../store/governance/plan-use.js'
import type { SharedJob } from './job.js'

/** Plans in force with promised rates that one piece looks at. */
const PLANS_PER_PIECE = 10
/** How often each is looked at. */
const EVERY_SECONDS = 600
/** The plans of a tenant that used more lately wait a minute, so that those of others come first. */
const SHARE_MS = 2_000
const PUT_OFF_SECONDS = 60

const used = createUsedTime()

/** Says of which learned plans the measured rate is above the one that was approved. */
export const watchRatesJob: SharedJob = {
  name: 'watch-rates',
  shared: true,
  ownLane: true,
  run: async (services) => {
    // Taken for good before anything is read of them: one that cannot be measured waits for its next turn like the others.
    const taken = await services.database.single(JOBS_SHARE, (sql) =>
      takeApprovals(sql, EVERY_SECONDS, PLANS_PER_PIECE),
    )
    const putOff: Approval[] = []
    for (const approval of taken) {
      if (used.of(approval.tenantId) > SHARE_MS) putOff.push(approval)
      else await watch(services, approval)
    }
    if (putOff.length > 0)
      await services.database.single(JOBS_SHARE, (sql) => putOffApprovals(sql, putOff, EVERY_SECONDS - PUT_OFF_SECONDS))
    return taken.length === PLANS_PER_PIECE
  },
}

async function watch({ database, log, metrics }: Services, approval: Approval): Promise<void> {
  const { tenantId, agent, environment } = approval
  const where = { tenant_id: tenantId, agent, environment }
  const stop = used.begin(tenantId)
  try {
    const found = await database.read(tenantId, (sql) => findSurprise(sql, approval))
    if (found === null) return await database.single(JOBS_SHARE, (sql) => setNoRates(sql, approval))
    const level = surpriseLevelSchema.safeParse(found.surprise)
    if (!level.success) return
    const use = await database.read(tenantId, (sql) => countPlanUse(sql, approval))
    const drift = planRates(level.data, { ...use, since: approval.since })?.drift ?? null
    if (drift === approval.drift) return
    await database.single(JOBS_SHARE, (sql) => setPlanDrift(sql, approval, drift))
    // Told once, when it begins: the pages of the plan and the overview say it for as long as it lasts.
    if (drift === null || approval.drift !== null) return
    metrics.count('countersign_plan_drifts_total')
    log.warn({ ...where, plan_id: found.planId, drift }, 'learned plan exceeds its promised rate')
  } catch (error) {
    log.warn({ ...where, error }, 'the rate of a learned plan could not be measured')
  } finally {
    stop()
  }
}
