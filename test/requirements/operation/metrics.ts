import type { Facts } from '../facts.js'

/** What an operator sees of the service and of a gateway. */
export const metrics = {
  'metrics.token':
    '/metrics is for the bearer token of the operator (COUNTERSIGN_METRICS_TOKEN); without one there is no /metrics',
  'metrics.from-zero':
    'Every counter is 0 before its first event, for each reason, outcome and failure: an alert sees the first one',
} satisfies Facts
