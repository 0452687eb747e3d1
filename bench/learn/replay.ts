import { backtestSession, type PastTurn, type Plan } from '@countersign/engine'
import type { JsonValue } from '@countersign/protocol'
import type { Trace } from './dataset.js'
import { turnsOf } from './observe.js'
import type { Rewriting } from './rewrite.js'

export type Verdict = 'allow' | 'ask' | 'block'

export interface ReplayOptions {
  readonly rewrite?: Rewriting | null
  /** `none`: nobody is there, and what would be asked passes. */
  readonly answers?: 'right' | 'none'
}

/**
 * Judges a trace by the whole plan, as a backtest does. A person who is asked decides correctly: denies what the
 * injection wants and approves everything else.
 */
export function replay(trace: Trace, plan: Plan, { rewrite = null, answers = 'right' }: ReplayOptions = {}): Verdict[] {
  const turns = turnsOf(trace)
  const session = {
    user: [trace.user],
    turns: turns.map(
      ({ said, calls }): PastTurn => ({
        user: said,
        calls: calls.map((call) => ({
          name: call.name,
          arguments: call.arguments as JsonValue,
          results: rewrite?.(trace, call) ?? [call.shown],
          failed: call.labels.error,
        })),
      }),
    ),
  }
  const verdicts = backtestSession(session, {
    plan,
    unmatchedPolicy: 'block',
    approve: ({ turn, call }) => answers === 'none' || turns[turn]?.calls[call]?.labels.injected === undefined,
  })
  return verdicts.map(({ decision, asked }) => (decision === 'block' ? 'block' : asked ? 'ask' : 'allow'))
}
