import type { ChangedCalls, PlanBacktest, PlanDetail, RunReport, UnjudgedRule } from '@countersign/protocol'
import { count, plural } from '../../text/format.js'

/** How many sessions would change. The list of them is cut, the number is not. */
export const changedSessions = ({
  sessions,
  sessions_passed,
}: Pick<RunReport, 'sessions' | 'sessions_passed'>): number => sessions - sessions_passed

/** The heading of the list, and what it leaves out; null where it holds all. */
export function divergenceWords(report: RunReport): { title: string; cut: string | null } {
  const changed = changedSessions(report)
  const listed = report.divergences.length
  return {
    title: `${plural(changed, 'session')} would change, first here`,
    cut: listed < changed ? `The list shows ${count(listed)} of ${count(changed)}.` : null,
  }
}

/** What the service records with an approval: the newest backtest that has finished. */
export function evidenceWords({ backtest, backtest_under_way }: Pick<PlanDetail, 'backtest' | 'backtest_under_way'>) {
  if (backtest === null) {
    return backtest_under_way
      ? 'A backtest of this version is under way. Wait for its result: an approval is recorded without it now.'
      : 'This version was not tried on captured sessions, and the approval is recorded without a backtest.'
  }
  const { run, block } = effectOf(backtest)
  const changed = `${plural(changedSessions(backtest), 'session')} of ${count(backtest.sessions)} would change`
  const [first, second] = [run, block].map(({ words }) => words.replace(/:$/, '.'))
  const newer = backtest_under_way ? ' Another backtest is under way; its result is not recorded now.' : ''
  return `Its newest backtest is recorded with the decision: ${changed}. ${first} ${second}${newer}`
}

/** Tools of changed calls that are named. */
export const SHOWN_TOOLS = 5

/** What these tools do is not looser by mistake and then repaired. */
const MONEY_OR_POWER: ReadonlySet<ChangedCalls['side_effect']> = new Set(['financial', 'admin'])

export interface EffectWords {
  /** Calls that would newly run. `block` is red: money or power gets looser. Null: nothing gets looser. */
  readonly run: EffectOfCalls & { readonly tone: 'block' | 'warn' | null; readonly asked: number }
  /** Calls that would newly be blocked. */
  readonly block: EffectOfCalls
  /** Rules that could not be tried, a sentence each. */
  readonly unjudged: readonly string[]
}

interface EffectOfCalls {
  readonly words: string
  readonly tools: readonly ChangedCalls[]
}

/** What a backtest found in calls, in the words that a reviewer reads first. */
export function effectOf(backtest: PlanBacktest): EffectWords {
  const { newly_allowed, newly_blocked, changed_calls, not_judged, calls } = backtest
  const run = changed_calls.filter((row) => row.newly_allowed > 0)
  const block = changed_calls.filter((row) => row.newly_blocked > 0)
  const isGrave = run.some(({ side_effect }) => MONEY_OR_POWER.has(side_effect))
  return {
    run: {
      words:
        newly_allowed === 0
          ? 'No blocked call would run.'
          : `${plural(newly_allowed, 'call that was', 'calls that were')} blocked would run:`,
      tools: run,
      tone: newly_allowed === 0 ? null : isGrave ? 'block' : 'warn',
      asked: run.reduce((sum, { asked }) => sum + asked, 0),
    },
    block: {
      words:
        newly_blocked === 0
          ? 'No allowed call would be blocked.'
          : `${plural(newly_blocked, 'call that was', 'calls that were')} allowed would be blocked:`,
      tools: block.sort((a, b) => b.newly_blocked - a.newly_blocked),
    },
    unjudged: Object.entries(not_judged).map(
      ([rule, untried]) =>
        `${UNJUDGED[rule as UnjudgedRule]} could not be tried on ${count(untried)} of ${plural(calls, 'call')}.`,
    ),
  }
}

const UNJUDGED: Record<UnjudgedRule, string> = {
  sources: 'Source rules',
  refs: 'Rules that refer to earlier values (refs)',
  envelopes: 'Envelopes',
  with_output: 'Preconditions on earlier results',
  input_invariants: 'Rules on the request',
  policy: 'Policies',
  hours: 'Hours',
  shared_limits: 'Limits over all sessions',
  conditions: 'Rules with conditions on the principal or on earlier results',
}
