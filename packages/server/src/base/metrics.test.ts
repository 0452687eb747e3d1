import { collectDefaultMetrics } from 'prom-client'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createMetrics } from './metrics.js'

proves(
  'metrics.from-zero',
  'every counter is there before anything is counted, so that an alert sees the first event',
  async () => {
    const text = await createMetrics().registry.metrics()
    for (const series of [
      'countersign_policy_errors_total',
      'countersign_plan_drifts_total',
      'countersign_content_mismatches_total',
      'countersign_ledger_events_total',
      'countersign_requests_total{route="propose",status="500"}',
      'countersign_decisions_total{decision="block",reason="killed"}',
      'countersign_connections_dropped_total{reason="too_many"}',
    ])
      expect(text).toContain(`\n${series} 0\n`)
  },
)

test('a gauge that cannot be read is left out and the rest is shown', async () => {
  const { registry, gauge, gaugeBy } = createMetrics()
  let isAway = false
  gauge('countersign_good', 'good', () => 7)
  gauge('countersign_bad', 'bad', () => (isAway ? Promise.reject(new Error('away')) : 1))
  gaugeBy('countersign_by', 'by', { label: 'kind', read: () => new Map([['a', 2]]) })
  expect(await registry.metrics()).toMatch(/^countersign_bad 1$/m)
  isAway = true
  const text = await registry.metrics()
  expect(text).toContain('# TYPE countersign_good gauge\ncountersign_good 7\n')
  expect(text).toContain('countersign_by{kind="a"} 2\n')
  expect(text).not.toMatch(/^countersign_bad /m)
})

test('what the service adds has no names of the default metrics', async () => {
  const { registry } = createMetrics()
  collectDefaultMetrics({ register: registry })
  expect(await registry.metrics()).toMatch(/^process_cpu_seconds_total /m)
})
