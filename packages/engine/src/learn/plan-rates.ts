import type { PlanRates, SurpriseLevel } from '@countersign/protocol'
import { upperBound } from './bound.js'

/** Sessions under a plan, and those of them in which a person was asked or a call was blocked. */
export interface PlanUse {
  readonly sessions: number
  readonly asked: number
  readonly blocked: number
}

/** What a learned plan promised, and what has come of it since; null for a plan that states no rates. */
export function planRates(
  surprise: SurpriseLevel | undefined,
  use: (PlanUse & { readonly since: Date }) | null,
): PlanRates | null {
  if (surprise?.expected === undefined) return null
  const { alpha, scores, requests = scores.length, expected } = surprise
  // A share below one of so many requests cannot be told from them.
  const unusual = Math.max(alpha, 1 / (requests + 1))
  const promised = { asked: Math.min(1, expected.by_sources + unusual), blocked: expected.blocked }
  return {
    alpha,
    requests,
    promised,
    choices: expected.asked.map(({ alpha: choice, share }) => ({ alpha: choice, asked: share })),
    demoted: [...(expected.demoted ?? [])],
    left_out: expected.left_out ?? null,
    measured: use === null ? null : { ...use, since: use.since.toISOString() },
    drift: use === null ? null : driftOf(promised, requests, use),
  }
}

/** Fewer sessions tell nothing about a rate. */
const TELLING_SESSIONS = 20

/** A rate has drifted if it is above the promised one with 95 % confidence. */
function driftOf(promised: PlanRates['promised'], requests: number, use: PlanUse): string | null {
  if (use.sessions < TELLING_SESSIONS) return null
  // Of so many requests without a block, this many blocks would be no surprise.
  const blocked = upperBound(Math.round(promised.blocked * requests), requests)
  const drifts = [
    { what: 'asked a person', seen: use.asked, promised: promised.asked },
    { what: 'had a blocked call', seen: use.blocked, promised: blocked },
  ].filter(({ seen, promised }) => lowerBound(seen, use.sessions) > promised)
  if (drifts.length === 0) return null
  const words = drifts.map(
    ({ what, seen, promised }) =>
      `${seen} of the newest ${use.sessions} sessions ${what}, where at most ${percent(promised)} were expected`,
  )
  return `${words.join('; ')}: the agent does other work than was captured, or is under attack; look at those sessions, and draft the plan again if they are good`
}

const lowerBound = (events: number, trials: number): number => 1 - upperBound(trials - events, trials)

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`
