import { Counter, Histogram, Registry } from 'prom-client'

export interface Metrics {
  readonly registry: Registry
  readonly requests: Counter<'route' | 'status'>
  readonly durations: Histogram<'route'>
  readonly diagnostics: Counter<'type'>
}

/** Those that an operator is woken for: there before their first event, so that `increase` sees it. */
const SERIOUS = [
  ...['replay_degraded', 'replay_bypass_detected', 'replay_killed', 'replay_policy_error', 'replay_judgement_failed'],
  ...['replay_throttled', 'replay_control_refused', 'capture_error', 'buffer_overflow'],
]

/** An answer may stream for minutes. */
const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const requests = new Counter({
    name: 'countersign_gateway_requests_total',
    help: 'Requests by route and status',
    labelNames: ['route', 'status'],
    registers,
  })
  const durations = new Histogram({
    name: 'countersign_gateway_request_duration_seconds',
    help: 'Time from request to the end of the answer by route',
    labelNames: ['route'],
    buckets: BUCKETS_SECONDS,
    registers,
  })
  const diagnostics = new Counter({
    name: 'countersign_gateway_diagnostics_total',
    help: 'What sessions reported, by type',
    labelNames: ['type'],
    registers,
  })
  for (const type of SERIOUS) diagnostics.inc({ type }, 0)
  return { registry, requests, durations, diagnostics }
}
