import { planRates } from '@countersign/engine'
import { surpriseLevelSchema } from '@countersign/protocol'
import { countPlanUse, setPlanDrift, takeLearnedApprovals } from '../../store/governance/plan-use.js'
import type { Job } from './job.js'

/** Plans looked at in one turn. */
const MOST_PLANS = 200

/** Says of which learned plans the measured rate is above the one that was approved. */
export const watchRatesJob: Job = {
  name: 'watch-rates',
  everySeconds: 600,
  run: async (tx, { log, metrics }) => {
    for (const plan of await takeLearnedApprovals(tx, MOST_PLANS)) {
      const level = surpriseLevelSchema.safeParse(plan.surprise)
      if (!level.success) continue
      const rates = planRates(level.data, { ...(await countPlanUse(tx, plan)), since: plan.since })
      const drift = rates?.drift ?? null
      if (drift === plan.drift) continue
      await setPlanDrift(tx, plan, drift)
      // Told once, when it begins: the pages of the plan and the overview say it for as long as it lasts.
      if (drift === null || plan.drift !== null) continue
      metrics.count('countersign_plan_drifts_total')
      const { tenantId: tenant_id, planId: plan_id, agent, environment } = plan
      log.warn({ tenant_id, plan_id, agent, environment, drift }, 'a learned plan does not keep its rate')
    }
  },
}
