import type { Bugs } from './sabotages.js'

/** Limits that are off, and what requests are checked for. */
export const protocolSabotages: Bugs = {
  'packages/protocol/src/base/limits.ts': [
    { breaks: 'limit.active-keys', from: 'activeKeysPerTenant: 5,', to: 'activeKeysPerTenant: 6,' },
    { breaks: 'limit.resend-verification', from: 'resendVerificationPerHour: 3,', to: 'resendVerificationPerHour: 4,' },
    { breaks: 'limit.post-general', from: 'free: { write: 30,', to: 'free: { write: 60,' },
    {
      breaks: 'limit.post-general',
      from: 'free: { write: 30, read: 120,',
      to: 'free: { write: 30, read: 120, evidence: 120,',
    },
    {
      breaks: 'limit.stops-unlimited',
      from: "if (throttle === 'stop') return null",
      to: "if (throttle === 'stop') return { bucket: 'write', perMinute: quota.write }",
    },
    { breaks: 'limit.get-general', from: 'read: 120,', to: 'read: 100,' },
    { breaks: 'limit.access-token', from: 'accessTokenMinutes: 15,', to: 'accessTokenMinutes: 5,' },
    { breaks: 'limit.refresh-token', from: 'refreshTokenDays: 7,', to: 'refreshTokenDays: 6,' },
    { breaks: 'limit.reset-token', from: 'resetTokenMinutes: 60,', to: 'resetTokenMinutes: 1,' },
    { breaks: 'limit.verification-token', from: 'verificationTokenHours: 24,', to: 'verificationTokenHours: 1,' },
    { breaks: 'limit.observe-breaker.closes', from: 'breakerMinutes: 10,', to: 'breakerMinutes: 20,' },
    { breaks: 'state.checkpoint.timeout-minimum', from: 'TimeoutMinSeconds: 30,', to: 'TimeoutMinSeconds: 3,' },
    { breaks: 'limit.runs-budget', from: 'runs: 5_000,', to: 'runs: 50,' },
    {
      breaks: 'learn.confidence.high',
      from: 'samples >= LIMITS.highConfidenceSamples',
      to: 'samples > LIMITS.highConfidenceSamples',
    },
    {
      breaks: 'learn.confidence.medium',
      from: 'samples >= LIMITS.mediumConfidenceSamples',
      to: 'samples > LIMITS.mediumConfidenceSamples',
    },
    { breaks: 'learn.confidence.low', from: "? 'medium' : 'low'", to: "? 'medium' : 'medium'" },
  ],
  'packages/protocol/src/routes.ts': [
    {
      breaks: 'endpoint.stops-need-nothing',
      from: 'lenientBody: true,\n    reply: session.stopReply,\n  },\n  endSession',
      to: 'reply: session.stopReply,\n  },\n  endSession',
    },
    { breaks: 'version.account-unversioned', from: "path: '/api/auth/login'", to: "path: '/api/auth/v1/login'" },
  ],
  'packages/protocol/src/base/ids.ts': [
    { breaks: 'endpoint.labels.non-empty', from: '/^[A-Za-z0-9_-]{1,128}$/', to: '/^[A-Za-z0-9_-]{0,128}$/' },
  ],
}
