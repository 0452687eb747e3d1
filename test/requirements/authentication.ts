import type { Fact } from './fact.js'

export const authentication = [
  {
    id: 'auth.bearer',
    behaviour: 'Every path under /api/v1/ needs an API key in Authorization: Bearer',
    state: 'built',
  },
  {
    id: 'auth.fail-closed',
    behaviour: 'A request without authority reaches no handler',
    state: 'built',
  },
  {
    id: 'auth.key.format',
    behaviour: 'A key is csk, an underscore and 32 base64url characters',
    state: 'built',
  },
  {
    id: 'auth.key.entropy',
    behaviour: 'A key holds 192 bits from a cryptographically secure source',
    state: 'built',
  },
  {
    id: 'auth.key.shown-once.signup',
    behaviour: 'Signup shows the first raw key in its answer and never again',
    state: 'built',
  },
  {
    id: 'auth.key.shown-once.creation',
    behaviour: 'Key creation shows the raw key in its answer and never again',
    state: 'built',
  },
  {
    id: 'auth.key.stored-hashed',
    behaviour: 'Of a key only the SHA-256 hash is stored',
    state: 'built',
  },
  {
    id: 'auth.key.compared-by-hash',
    behaviour: 'A presented key is recognised by its hash',
    state: 'built',
  },
  {
    id: 'auth.order.extract',
    behaviour: 'First the Bearer token is taken out of the header',
    state: 'built',
  },
  {
    id: 'auth.order.format',
    behaviour: 'A token without the right prefix is refused before any lookup',
    state: 'built',
  },
  {
    id: 'auth.order.lookup',
    behaviour: 'A well-formed token is hashed and looked up',
    state: 'built',
  },
  {
    id: 'auth.order.revoked',
    behaviour: 'A key that was found is checked for revocation',
    state: 'built',
  },
  {
    id: 'auth.order.tenant',
    behaviour: 'A good key yields tenant and user for what follows',
    state: 'built',
  },
  {
    id: 'auth.key.revoked-at-once',
    behaviour: 'The first request after a revocation is refused',
    state: 'built',
  },
  {
    id: 'auth.key.maximum-active',
    behaviour: "A tenant's sixth active key is refused",
    state: 'built',
  },
  {
    id: 'auth.key.last-used',
    behaviour: 'Each request moves last_used_at on, without waiting for it',
    state: 'built',
  },
  {
    id: 'auth.unverified',
    behaviour: 'An unverified account gets 403 EMAIL_NOT_VERIFIED under /api/v1/',
    state: 'built',
  },
  {
    id: 'auth.unverified.dashboard',
    behaviour: 'An unverified account can use the dashboard',
    state: 'built',
  },
  {
    id: 'auth.password.scrypt',
    behaviour: 'Passwords are hashed with scrypt',
    state: 'built',
  },
  {
    id: 'auth.password.salt',
    behaviour: 'Equal passwords have different salts and hashes',
    state: 'built',
  },
  {
    id: 'auth.password.constant-time',
    behaviour: 'Password hashes are compared in constant time',
    state: 'built',
  },
  {
    id: 'auth.password.no-plaintext',
    behaviour: 'A password appears in no table and no log',
    state: 'built',
  },
  {
    id: 'auth.session.signature',
    behaviour: 'Dashboard tokens are signed with HMAC-SHA256 and others are refused',
    state: 'built',
  },
  {
    id: 'auth.session.access-lifetime',
    behaviour: 'An access token is good for 15 minutes',
    state: 'built',
  },
  {
    id: 'auth.session.refresh-lifetime',
    behaviour: 'A refresh token is good for 7 days',
    state: 'built',
  },
  {
    id: 'auth.cookie.http-only',
    behaviour: 'Dashboard cookies are HttpOnly',
    state: 'built',
  },
  {
    id: 'auth.cookie.same-site',
    behaviour: 'Dashboard cookies are SameSite=Strict',
    state: 'built',
  },
  {
    id: 'auth.cookie.secure',
    behaviour: 'Dashboard cookies are Secure in production',
    state: 'built',
  },
  {
    id: 'auth.refresh.transparent',
    behaviour: "An expired access token with a good refresh token is renewed without the caller's doing",
    state: 'built',
  },
  {
    id: 'auth.refresh.stored-hashed',
    behaviour: 'Of a refresh token only the SHA-256 hash is stored',
    state: 'built',
  },
  {
    id: 'auth.refresh.revocable',
    behaviour: 'A revoked refresh token is refused at once',
    state: 'built',
  },
  {
    id: 'auth.refresh.retention',
    behaviour: 'Expired and revoked refresh tokens are deleted after 30 days',
    state: 'built',
  },
  {
    id: 'auth.reset.token',
    behaviour: 'A reset token is 32 random bytes',
    state: 'built',
  },
  {
    id: 'auth.reset.stored-hashed',
    behaviour: 'Of a reset token only the SHA-256 hash is stored',
    state: 'built',
  },
  {
    id: 'auth.reset.mailed-link',
    behaviour: 'The raw reset token travels in a mailed link, which is https in production',
    state: 'built',
  },
  {
    id: 'auth.reset.single-use',
    behaviour: 'A reset token works once and is marked with used_at',
    state: 'built',
  },
  {
    id: 'auth.reset.lifetime',
    behaviour: 'A reset token expires after 1 hour',
    state: 'built',
  },
  {
    id: 'auth.reset.invalidates-older',
    behaviour: 'A new reset token makes the unused older ones worthless',
    state: 'built',
  },
  {
    id: 'auth.verification.no-wait',
    behaviour: 'Signup answers without waiting for the verification mail',
    state: 'built',
  },
  {
    id: 'auth.verification.mail-failure',
    behaviour: 'Signup succeeds when the mail cannot be sent',
    state: 'built',
  },
  {
    id: 'auth.verification.token',
    behaviour: 'A verification token is 32 random bytes',
    state: 'built',
  },
  {
    id: 'auth.verification.stored-hashed',
    behaviour: 'A verification token is stored as a hash only',
    state: 'built',
  },
  {
    id: 'auth.verification.lifetime',
    behaviour: 'A verification token expires after 24 hours',
    state: 'built',
  },
  {
    id: 'auth.verification.resend',
    behaviour: 'The verification mail can be asked for again',
    state: 'built',
  },
  {
    id: 'auth.verification.resend-limit',
    behaviour: 'A fourth resend within an hour is refused',
    state: 'built',
  },
  {
    id: 'auth.logs.redacted',
    behaviour: 'Keys, tokens and credentials are redacted in logs at every depth',
    state: 'built',
  },
  {
    id: 'auth.principal.policy',
    behaviour: 'The principal given to the client is what policies judge',
    state: 'built',
  },
  {
    id: 'auth.principal.missing',
    behaviour: 'A policy without a principal makes initialization fail with policy_without_principal',
    state: 'built',
  },
] as const satisfies readonly Fact[]
