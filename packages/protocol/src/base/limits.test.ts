import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { confidenceOf, LIMITS, QUOTAS } from './limits.js'

proves(
  [
    'limit.active-keys',
    'limit.signup',
    'limit.forgot-password',
    'limit.resend-verification',
    'limit.post-general',
    'limit.get-general',
    'limit.label-length',
    'limit.max-retries',
    'limit.max-unguarded-calls',
    'limit.checkpoint-triggers',
    'limit.checkpoint-timeout',
    'limit.observe-buffer',
    'limit.observe-flush',
    'limit.observe-timeout',
    'limit.observe-breaker.opens',
    'limit.observe-breaker.closes',
    'limit.access-token',
    'limit.refresh-token',
    'limit.reset-token',
    'limit.verification-token',
    'limit.refresh-retention',
    'limit.confidence',
  ],
  'every limit is the number that it is promised to be',
  () => {
    expect(LIMITS).toMatchObject({
      activeKeysPerTenant: 5,
      signupsPerHourPerIp: 5,
      forgotPasswordPerHourPerEmail: 3,
      resendVerificationPerHour: 3,
      labelLength: 128,
      maxRetries: 5,
      maxRetriesDefault: 0,
      maxUnguardedCallsDefault: 3,
      checkpointTriggersPerSession: 10,
      checkpointTimeoutMinSeconds: 30,
      observeBufferDefault: 100,
      observeBufferMax: 1_000,
      observeFlushMsDefault: 5_000,
      observeTimeoutMsDefault: 5_000,
      observeTimeoutMsMax: 10_000,
      breakerFailures: 5,
      breakerMinutes: 10,
      accessTokenMinutes: 15,
      refreshTokenDays: 7,
      refreshTokenRetentionDays: 30,
      resetTokenMinutes: 60,
      verificationTokenHours: 24,
    })
    expect(QUOTAS.free).toMatchObject({ write: 30, read: 120 })
    expect([0, 4, 5, 9, 10, 1_000].map(confidenceOf)).toEqual(['low', 'low', 'medium', 'medium', 'high', 'high'])
  },
)
