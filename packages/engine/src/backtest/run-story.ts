import type { Story, StoryStep } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import { backtestSession, type CallComparison } from './backtest.js'

/** What a step of a story got instead of what it expects. */
export interface StoryFailure {
  /** Counted from 1. */
  readonly step: number
  readonly message: string
}

/** Judges a story call by call, as a session would be. Empty: everything came as it should. */
export function runStory(story: Story, plan: Plan): StoryFailure[] {
  const hidden: ReadonlySet<string>[] = []
  let atMs: number | undefined
  const decisions = backtestSession(
    {
      labels: story.labels,
      principal: story.principal,
      user: [],
      turns: story.steps.map((step) => {
        atMs = step.at === undefined ? atMs : Date.parse(step.at)
        const results = step.result === undefined ? {} : { results: [step.result] }
        return {
          user: step.user === undefined ? [] : [step.user],
          calls: [{ name: step.call, arguments: step.with, failed: step.fails, ...results }],
          ...(atMs !== undefined && { atMs }),
        }
      }),
    },
    {
      plan,
      unmatchedPolicy: 'block',
      judgesShared: true,
      approve: ({ turn }) => story.steps[turn]?.answer !== 'deny',
      edit: ({ turn }) => story.steps[turn]?.edited,
      onNarrowed: (removed) => hidden.push(new Set(removed.map(({ tool }) => tool))),
    },
  )
  return story.steps.flatMap((step, at) =>
    problemsOf(step, decisions[at], hidden[at] ?? new Set()).map((message) => ({ step: at + 1, message })),
  )
}

function problemsOf(step: StoryStep, got: CallComparison | undefined, hidden: ReadonlySet<string>): string[] {
  const [block] = got?.reasons ?? []
  const decided = got === undefined || got.decision === 'block' ? 'block' : got.asked ? 'ask' : 'allow'
  const shown = (step.hidden ?? []).filter((tool) => !hidden.has(tool))
  const problems = shown.map((tool) => `${tool} is offered, expected to be hidden`)
  if (decided !== step.expect) {
    const why = block === undefined ? '' : ` (${block.reason}: ${block.remedy})`
    return [...problems, `${step.call} expected ${step.expect}, got ${decided}${why}`]
  }
  if (typeof got?.editProblem === 'string')
    problems.push(`${step.call} cannot be changed like that: ${got.editProblem}`)
  if (block === undefined) return problems
  if (step.reason !== undefined && step.reason !== block.reason) {
    problems.push(`${step.call} expected the reason ${step.reason}, got ${block.reason}: ${block.remedy}`)
  }
  const paths = (got?.reasons ?? []).flatMap(({ failures }) => failures.map(({ path }) => path.replace(CALL, '$')))
  if (step.path !== undefined && !paths.includes(step.path)) {
    problems.push(`${step.call} expected a failure at ${step.path}, got ${paths.join(', ') || 'none'}`)
  }
  return problems
}

/** Stories name arguments as contracts do. */
const CALL = /^\$\.tool_calls\[\d+\]\.arguments/
