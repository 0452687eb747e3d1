import { setImmediate } from 'node:timers/promises'
import { addToTally, backtestSession, newTally, type Plan, reportOf } from '@countersign/engine'
import type { RunFixture, RunReport } from '@countersign/protocol'
import type { Services } from '../context.js'
import { listConversations } from '../store/captures.js'
import { findPlan } from '../store/plans.js'
import { type ClaimedRun, claimRun, finishRun, renewClaim } from '../store/runs.js'
import { capturedExpectation, capturedSession, fixtureSession, withoutOutputRules } from './past-sessions.js'

/** Judges fixtures. Few and small, so that the answer can wait for it; other requests are let in between. */
export async function judgeFixtures(
  fixtures: readonly RunFixture[],
  options: { plan: Plan; unmatchedPolicy: 'block' | 'allow' },
): Promise<RunReport> {
  const tally = newTally(options.plan)
  for (const fixture of fixtures) {
    const session = fixtureSession(fixture, null)
    const expected = (turn: number, call: number) => fixture.turns[turn]?.calls[call]?.expect ?? 'allow'
    addToTally(tally, session, backtestSession(session, options), expected)
    await setImmediate()
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

async function judgeCaptured({ database, plans }: Services, run: ClaimedRun): Promise<RunReport> {
  const { agent, since, maxSessions, unmatchedPolicy } = run.against
  const compiled = await findPlan(database.sql, run.tenantId, run.compiledHash)
  if (compiled === null) throw new Error(`the plan ${run.compiledHash} is gone`)
  const prepared = await plans.prepare(withoutOutputRules(compiled))
  if (!prepared.ok) throw new Error(prepared.problems.join('; '))
  const tally = newTally(prepared.plan)
  let after = ''
  while (tally.sessions < maxSessions) {
    const limit = Math.min(CONVERSATIONS_PER_PAGE, maxSessions - tally.sessions)
    const scope = { tenantId: run.tenantId, agent, since: since === null ? null : new Date(since), limit, after }
    const page = await listConversations(database.sql, scope)
    for (const { conversationId, items } of page) {
      const session = capturedSession(conversationId, items)
      const verdicts = backtestSession(session, { plan: prepared.plan, unmatchedPolicy })
      addToTally(tally, session, verdicts, capturedExpectation(items))
      after = conversationId
      await setImmediate()
    }
    if (page.length < limit) break
    await renewClaim(database.sql, run)
  }
  return reportOf(tally)
}
