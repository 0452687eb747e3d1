import { expect, test } from 'vitest'
import { createMetrics } from './metrics.js'

test('counters add up by their labels, and labels are escaped', async () => {
  const metrics = createMetrics()
  metrics.count('countersign_requests_total', { route: 'propose', status: '200' })
  metrics.count('countersign_requests_total', { route: 'propose', status: '200' }, 2)
  metrics.count('countersign_requests_total', { route: 'a"b\\c\nd', status: '404' })
  const text = await metrics.render()
  expect(text).toContain('countersign_requests_total{route="propose",status="200"} 3\n')
  expect(text).toContain('countersign_requests_total{route="a\\"b\\\\c\\nd",status="404"} 1\n')
})

test('a histogram counts every value at or below each bound', async () => {
  const metrics = createMetrics()
  for (const seconds of [0.001, 0.004, 99])
    metrics.histogram('countersign_request_duration_seconds', { route: 'r' })(seconds)
  const text = await metrics.render()
  expect(text).toContain('countersign_request_duration_seconds_bucket{route="r",le="0.001"} 1\n')
  expect(text).toContain('countersign_request_duration_seconds_bucket{route="r",le="0.005"} 2\n')
  expect(text).toContain('countersign_request_duration_seconds_bucket{route="r",le="10"} 2\n')
  expect(text).toContain('countersign_request_duration_seconds_bucket{route="r",le="+Inf"} 3\n')
  expect(text).toContain('countersign_request_duration_seconds_count{route="r"} 3\n')
})

test('a gauge that cannot be read is left out and the rest is shown', async () => {
  const metrics = createMetrics()
  metrics.gauge('countersign_good', 'good', () => 7)
  metrics.gauge('countersign_bad', 'bad', () => Promise.reject(new Error('away')))
  const text = await metrics.render()
  expect(text).toContain('# TYPE countersign_good gauge\ncountersign_good 7\n')
  expect(text).not.toContain('countersign_bad')
})

test('labels that somebody can choose are counted together beyond a thousand', async () => {
  const metrics = createMetrics()
  for (let at = 0; at < 1_100; at++) metrics.count('countersign_requests_total', { route: `r${at}`, status: '200' })
  const lines = (await metrics.render()).split('\n').filter((line) => line.startsWith('countersign_requests_total{'))
  expect(lines).toHaveLength(1_001)
  expect(lines.at(-1)).toBe('countersign_requests_total{series="other"} 100')
})
