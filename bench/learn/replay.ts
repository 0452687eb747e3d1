import { backtestSession, compilePlan, type Draft, type PastTurn, type Plan } from '@countersign/engine'
import type { JsonValue } from '@countersign/protocol'
import { DataError, type Trace } from './dataset.js'
import { turnsOf } from './observe.js'
import type { Rewriting } from './rewrite.js'

export type Verdict = 'allow' | 'ask' | 'block'

/** The learned contracts, compiled as they would be for approval. */
export function planOf(drafts: readonly Draft[]): Plan {
  const compiled = compilePlan({
    contracts: drafts.map(({ contract }) => ({ file: `${contract.tool}.json`, value: contract })),
  })
  if (!compiled.ok) throw new DataError(`what was learned does not compile: ${JSON.stringify(compiled.errors[0])}`)
  return compiled.plan
}

/**
 * Judges a trace by the whole plan, as a backtest does. A person who is asked decides correctly: denies what the
 * injection wants and approves everything else.
 */
export function replay(trace: Trace, plan: Plan, rewrite: Rewriting | null = null): Verdict[] {
  const turns = turnsOf(trace)
  const session = {
    user: [trace.user],
    turns: turns.map(
      (turn): PastTurn => ({
        calls: turn.map((call) => ({
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
    approve: ({ turn, call }) => turns[turn]?.[call]?.labels.injected === undefined,
  })
  return verdicts.map(({ decision, asked }) => (decision === 'block' ? 'block' : asked ? 'ask' : 'allow'))
}
