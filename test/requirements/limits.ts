import type { Fact } from './fact.js'

export const limits = [
  {
    id: 'limit.active-keys',
    behaviour: 'A tenant has at most 5 active API keys',
    state: 'built',
  },
  {
    id: 'limit.signup',
    behaviour: 'Signup takes 5 requests an hour from one IP address',
    state: 'built',
  },
  {
    id: 'limit.forgot-password',
    behaviour: 'forgot-password acts on 3 requests an hour for one address',
    state: 'built',
  },
  {
    id: 'limit.resend-verification',
    behaviour: 'Resending verification takes 3 requests an hour',
    state: 'built',
  },
  {
    id: 'limit.post-general',
    behaviour: 'A tenant makes 30 POST requests a minute',
    state: 'built',
  },
  {
    id: 'limit.get-general',
    behaviour: 'A tenant makes 120 GET requests a minute',
    state: 'built',
  },
  {
    id: 'limit.runs-budget',
    behaviour: "Runs are counted against a monthly budget that depends on the tenant's quota",
    state: 'built',
  },
  {
    id: 'limit.runs-also-post',
    behaviour: 'Runs also count against the general POST limit',
    state: 'built',
  },
  {
    id: 'limit.runs-no-daily-cap',
    behaviour: 'Runs have no limit per day',
    state: 'built',
  },
  {
    id: 'limit.token-bucket',
    behaviour: 'Rates are kept by token buckets, which refill with time',
    state: 'built',
  },
  {
    id: 'limit.label-length',
    behaviour: 'Labels have 1 to 128 characters',
    state: 'built',
  },
  {
    id: 'limit.max-retries',
    behaviour: 'maxRetries lies between 0 and 5 and is 0 by default',
    state: 'built',
  },
  {
    id: 'limit.max-unguarded-calls',
    behaviour: 'maxUnguardedCalls is 3 by default',
    state: 'built',
  },
  {
    id: 'limit.checkpoint-triggers',
    behaviour: 'A session triggers at most 10 checkpoints',
    state: 'built',
  },
  {
    id: 'limit.checkpoint-timeout',
    behaviour: 'A checkpoint waits 30 seconds at least',
    state: 'built',
  },
  {
    id: 'limit.observe-buffer',
    behaviour: 'The observe buffer holds 100 items by default and 1000 at most',
    state: 'built',
  },
  {
    id: 'limit.observe-flush',
    behaviour: 'Observe flushes every 5000 ms by default',
    state: 'built',
  },
  {
    id: 'limit.observe-timeout',
    behaviour: 'Observe waits 5000 ms for the API by default and 10000 ms at most',
    state: 'built',
  },
  {
    id: 'limit.observe-breaker.opens',
    behaviour: 'Five failed capture requests in a row stop capturing',
    state: 'built',
  },
  {
    id: 'limit.observe-breaker.closes',
    behaviour: 'Capturing starts again 10 minutes after it was stopped',
    state: 'built',
  },
  {
    id: 'limit.access-token',
    behaviour: 'Access tokens live 15 minutes',
    state: 'built',
  },
  {
    id: 'limit.refresh-token',
    behaviour: 'Refresh tokens live 7 days',
    state: 'built',
  },
  {
    id: 'limit.reset-token',
    behaviour: 'Password reset tokens live 1 hour',
    state: 'built',
  },
  {
    id: 'limit.verification-token',
    behaviour: 'Verification tokens live 24 hours',
    state: 'built',
  },
  {
    id: 'limit.refresh-retention',
    behaviour: 'Dead refresh tokens are kept for 30 days',
    state: 'built',
  },
  {
    id: 'limit.confidence',
    behaviour: 'Confidence turns medium at 5 samples and high at 10',
    state: 'built',
  },
  {
    id: 'environment.disable',
    behaviour: 'COUNTERSIGN_DISABLE set to true, 1, yes or on turns capture off',
    state: 'built',
  },
  {
    id: 'environment.api-key',
    behaviour: 'COUNTERSIGN_API_KEY supplies the API key',
    state: 'built',
  },
  {
    id: 'environment.api-url',
    behaviour: 'COUNTERSIGN_API_URL supplies the address of the API',
    state: 'built',
  },
  {
    id: 'environment.api-url.default',
    behaviour: "Without COUNTERSIGN_API_URL the service's base address is used",
    state: 'built',
  },
] as const satisfies readonly Fact[]
