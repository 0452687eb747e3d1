import type { Facts } from '../facts.js'

/** What an operator sees of the service and of a gateway. */
export const metrics = {
  'metrics.token':
    '/metrics of the service and of a gateway is for the bearer token of the operator (COUNTERSIGN_METRICS_TOKEN); without one there is no /metrics',
  'metrics.from-zero':
    'Every counter is 0 before its first event, for each reason, outcome and failure: an alert sees the first one',
  'gateway.readiness':
    'A gateway says at /healthz that it runs, and at /readyz whether the service answers and takes its key, or why not',
  'gateway.log':
    'A gateway writes a line of JSON for each request, with time, level, request, route, agent, session, status and duration',
} satisfies Facts
