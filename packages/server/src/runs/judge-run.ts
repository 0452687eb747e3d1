import { setImmediate } from 'node:timers/promises'
import { addToTally, backtestSession, newTally, type Plan, reportOf, type Steps } from '@countersign/engine'
import type { CompiledSession, RunFixture, RunReport } from '@countersign/protocol'
import type { Services } from '../context/context.js'
import { listConversations, loadConversations } from '../store/captures/captures.js'
import { findPlan } from '../store/governance/plans.js'
import { type ClaimedRun, claimRun, finishRun, renewClaim } from '../store/runs/runs.js'
import { type JudgeablePlan, judgeablePlan, requestRules } from './judgeable-plan.js'
import { capturedExpectation, capturedSession, fixtureSession, hasFlows } from './past-sessions.js'
import { storedReport, storedVerdict } from './stored-report.js'

/** Judges fixtures one by one. Few and small, so that the reply can wait for it. */
export function* judgeFixtures(
  fixtures: readonly RunFixture[],
  options: { plan: Plan; unmatchedPolicy: 'block' | 'allow' },
): Steps<RunReport> {
  const tally = newTally(options.plan)
  const unjudged = requestRules(options.plan)
  for (const fixture of fixtures) {
    const session = fixtureSession(fixture, null)
    const expected = (turn: number, call: number) => fixture.turns[turn]?.calls[call]?.expect ?? 'allow'
    addToTally(tally, session, backtestSession(session, options), expected, unjudged)
    yield
  }
  return reportOf(tally)
}

/** Does one run that waits. Whatever goes wrong with it is written into it. False when none waits. */
export async function judgeWaitingRun(services: Services): Promise<boolean> {
  const { database, log } = services
  const run = await claimRun(database.sql)
  if (run === null) return false
  try {
    await finishRun(database.sql, run, { report: await judgeCaptured(services, run) })
  } catch (error) {
    log.error({ run: run.runId, error }, 'a run failed')
    await finishRun(database.sql, run, { error: 'the run could not be finished; start it again' })
  }
  return true
}

const CONVERSATIONS_PER_PAGE = 100

/** Judges the newest conversations first, so that a run with a limit shows the agent as it is now. */
async function judgeCaptured({ database, plans }: Services, run: ClaimedRun): Promise<RunReport> {
  const { agent, since, maxSessions, unmatchedPolicy } = run.against
  const compiled = await findPlan(database.sql, run.tenantId, run.compiledHash)
  if (compiled === null) throw new Error(`the plan ${run.compiledHash} is gone`)
  const whole = await prepared(plans, run, compiled)
  const variants = new Map<boolean, { plan: Plan } & Pick<JudgeablePlan, 'unjudged'>>()
  const planFor = async (flows: boolean) => {
    const known = variants.get(flows)
    if (known !== undefined) return known
    const { compiled: part, unjudged } = judgeablePlan(compiled, { flows })
    const variant = { plan: await prepared(plans, run, part), unjudged }
    variants.set(flows, variant)
    return variant
  }
  const tally = newTally(whole)
  const scope = { tenantId: run.tenantId, agent }
  const after = since === null ? null : new Date(since)
  const ids = await listConversations(database.sql, { ...scope, since: after, limit: maxSessions })
  for (let from = 0; from < ids.length; from += CONVERSATIONS_PER_PAGE) {
    await renewClaim(database.sql, run, tally.sessions)
    const page = await loadConversations(database.sql, {
      ...scope,
      ids: ids.slice(from, from + CONVERSATIONS_PER_PAGE),
    })
    for (const { conversationId, items } of page) {
      const session = capturedSession(conversationId, items)
      const { plan, unjudged } = await planFor(hasFlows(session))
      const verdicts = backtestSession(session, { plan, unmatchedPolicy }).map((verdict) =>
        storedVerdict(verdict, plan),
      )
      addToTally(tally, session, verdicts, capturedExpectation(items), unjudged)
      await setImmediate()
    }
  }
  return storedReport(reportOf(tally), whole)
}

async function prepared(plans: Services['plans'], { tenantId }: ClaimedRun, compiled: CompiledSession): Promise<Plan> {
  const result = await plans.prepare(compiled, { by: { tenantId, isOwed: true } })
  if (!result.ok) throw new Error(result.problems.join('; '))
  return result.plan
}
