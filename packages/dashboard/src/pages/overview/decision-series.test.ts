import { expect, test } from 'vitest'
import { decisionSeries } from './decision-series.js'

const span = (allowed: number, by_reason: Record<string, number>) => ({
  at: '2026-01-01T00:00:00.000Z',
  allowed,
  blocked: Object.values(by_reason).reduce((sum, value) => sum + value, 0),
  by_reason,
})

test('what is drawn adds up to what was decided, whatever the number of reasons', () => {
  const reasons = [
    'loop_detected',
    'policy_denied',
    'ref_mismatch',
    'forbidden_tool',
    'killed',
    'envelope_violation',
  ] as const
  const spans = [
    span(10, { loop_detected: 3, killed: 1, envelope_violation: 2 }),
    span(0, {}),
    span(4, Object.fromEntries(reasons.map((reason) => [reason, 1]))),
  ]
  const series = decisionSeries({
    range: '24h',
    since: spans[0]?.at ?? '',
    span_seconds: 3_600,
    spans,
    reasons: reasons.map((reason, index) => ({ reason, count: 6 - index })),
    totals: {
      allowed: 14,
      blocked: 12,
      sessions: 1,
      active_sessions: 1,
      calls_in_doubt: 0,
      unanswered_calls: 0,
      killed: 0,
      compromised: 0,
    },
    agents: [],
    agents_total: 0,
    oldest_unanswered: null,
    drifting_plans: [],
    recent_blocks: [],
  })
  expect(series.map(({ key }) => key)).toEqual([...reasons.slice(0, 4), 'other', 'allowed'])
  spans.forEach((expected, at) => {
    const drawn = series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)
    expect(drawn).toBe(expected.allowed + expected.blocked)
  })
})
