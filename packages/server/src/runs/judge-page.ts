import {
  addToTally,
  type BacktestTally,
  backtestSession,
  type ChangedCounts,
  newTally,
  type Plan,
  preparePlan,
  reportOf,
} from '@countersign/engine'
import type { CompiledSession, RunFixture } from '@countersign/protocol'
import { loadPolicyEvaluator } from '../base/policy.js'
import type { JudgedPage, PageToJudge, RunPlan } from '../context/tasks.js'
import type { StoredCapture } from '../store/captures/captures.js'
import type { WrittenReport } from '../store/runs/runs.js'
import { type JudgeablePlan, judgeablePlan, requestRules } from './judgeable-plan.js'
import { capturedExpectation, capturedSession, fixtureSession, hasFlows } from './past-sessions.js'
import { storedReport, storedVerdict } from './stored-report.js'

/** Judges conversations as they were captured, and adds them to what earlier pages found. */
export async function judgePage({ plan: given, conversations, tally: before }: PageToJudge): Promise<JudgedPage> {
  const startedAt = performance.now()
  const run = await preparedRun(given)
  const tally = readTally(run.whole, before)
  for (const { conversationId, items: texts } of conversations) {
    const items = texts.map((text) => JSON.parse(text) as StoredCapture)
    const session = capturedSession(conversationId, items)
    const { plan, unjudged } = await run.planFor(hasFlows(session))
    const verdicts = backtestSession(session, { plan, unmatchedPolicy: given.unmatchedPolicy }).map((verdict) =>
      storedVerdict(verdict, plan),
    )
    addToTally(tally, session, verdicts, capturedExpectation(items), unjudged)
  }
  return { tally: writeTally(tally), sessions: tally.sessions, ms: performance.now() - startedAt }
}

export async function reportRun({ plan, tally }: Pick<PageToJudge, 'plan' | 'tally'>): Promise<string> {
  const { whole } = await preparedRun(plan)
  return JSON.stringify(storedReport(reportOf(readTally(whole, tally)), whole))
}

export async function judgeFixtures({
  plan: given,
  fixtures,
}: {
  readonly plan: RunPlan
  readonly fixtures: string
}): Promise<WrittenReport> {
  const { whole: plan } = await preparedRun(given)
  const tally = newTally(plan)
  const unjudged = requestRules(plan)
  for (const fixture of JSON.parse(fixtures) as RunFixture[]) {
    const session = fixtureSession(fixture, null)
    const expected = (turn: number, call: number) => fixture.turns[turn]?.calls[call]?.expect ?? 'allow'
    const verdicts = backtestSession(session, { plan, unmatchedPolicy: given.unmatchedPolicy })
    addToTally(tally, session, verdicts, expected, unjudged)
  }
  return { report: JSON.stringify(reportOf(tally)), sessions: tally.sessions }
}

interface PreparedRun {
  readonly whole: Plan
  /** The part of the plan by which a conversation with or without flows can be judged. */
  planFor(flows: boolean): Promise<{ readonly plan: Plan } & Pick<JudgeablePlan, 'unjudged'>>
}

/** The plans of the last pages: preparing one can take longer than judging a page. */
const prepared = new Map<string, Promise<PreparedRun>>()
const MAX_PREPARED = 3

function preparedRun({ hash, compiled }: RunPlan): Promise<PreparedRun> {
  const known = prepared.get(hash)
  if (known !== undefined) return known
  if (prepared.size >= MAX_PREPARED) prepared.delete(prepared.keys().next().value ?? '')
  const preparing = prepareRun(JSON.parse(compiled) as CompiledSession)
  prepared.set(hash, preparing)
  return preparing
}

async function prepareRun(compiled: CompiledSession): Promise<PreparedRun> {
  const whole = await planOf(compiled)
  const variants = new Map<boolean, Promise<{ plan: Plan } & Pick<JudgeablePlan, 'unjudged'>>>()
  const cut = async (flows: boolean) => {
    const { compiled: part, unjudged } = judgeablePlan(compiled, { flows })
    return { plan: await planOf(part), unjudged }
  }
  return {
    whole,
    planFor: (flows) => {
      const variant = variants.get(flows) ?? cut(flows)
      variants.set(flows, variant)
      return variant
    },
  }
}

async function planOf(compiled: CompiledSession): Promise<Plan> {
  const result = preparePlan(compiled, { policy: await loadPolicyEvaluator() })
  if (!result.ok) throw new Error(`the plan cannot be used: ${result.problems.join('; ')}`)
  return result.plan
}

type Written = Omit<BacktestTally, 'plan' | 'tools' | 'wouldBlock' | 'notJudged' | 'changed'> & {
  tools: [string, { calls: number; paths: [string, number][] }][]
  wouldBlock: [string, number][]
  notJudged: [never, number][]
  changed: [string, ChangedCounts][]
}

function writeTally({ plan: _, tools, wouldBlock, notJudged, changed, ...counts }: BacktestTally): string {
  return JSON.stringify({
    ...counts,
    tools: [...tools].map(([tool, { calls, paths }]) => [tool, { calls, paths: [...paths] }]),
    wouldBlock: [...wouldBlock],
    notJudged: [...notJudged],
    changed: [...changed],
  })
}

function readTally(plan: Plan, text: string | null): BacktestTally {
  if (text === null) return newTally(plan)
  const { tools, wouldBlock, notJudged, changed, ...counts } = JSON.parse(text) as Written
  return {
    ...counts,
    plan,
    tools: new Map(tools.map(([tool, { calls, paths }]) => [tool, { calls, paths: new Map(paths) }])),
    wouldBlock: new Map(wouldBlock),
    notJudged: new Map(notJudged),
    changed: new Map(changed),
  }
}
