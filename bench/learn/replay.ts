import { backtestSession, type CallComparison, type PastTurn, type Plan } from '@countersign/engine'
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

/** Judges a trace by the whole plan, as a backtest does. */
export function replay(trace: Trace, plan: Plan, options: ReplayOptions = {}): Verdict[] {
  return playTrace(trace, plan, options).map(({ decision, asked }) =>
    decision === 'block' ? 'block' : asked ? 'ask' : 'allow',
  )
}

/** A person who is asked decides correctly: denies what the injection wants and approves everything else. */
export function playTrace(
  trace: Trace,
  plan: Plan,
  { rewrite = null, answers = 'right' }: ReplayOptions = {},
): CallComparison[] {
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
  return backtestSession(session, {
    plan,
    unmatchedPolicy: 'block',
    approve: ({ turn, call }) => answers === 'none' || turns[turn]?.calls[call]?.labels.injected === undefined,
  })
}
