import type { Bugs } from './sabotages.js'

/** For whom a session acts, and what proves it: in the server, the rules, the SDK and the gateway. */
export const principalSabotages: Bugs = {
  'packages/server/src/accounts/principals/principal-token.ts': [
    { breaks: 'auth.principal.token-checks', from: '      algorithms: [...row.algorithms],\n', to: '' },
    { breaks: 'auth.principal.token-checks', from: '      audience: row.audience,\n', to: '' },
    {
      breaks: 'auth.principal.token-checks',
      from: 'if (exp - iat > LIMITS.principalTokenMinutes * 60)',
      to: 'if (exp - iat > LIMITS.principalTokenMinutes * 6_000)',
    },
    {
      breaks: 'auth.principal.token-checks',
      from: "requiredClaims: ['sub', 'iat', 'exp', 'jti']",
      to: "requiredClaims: ['sub', 'iat', 'jti']",
    },
    {
      breaks: 'auth.principal.clock-skew',
      from: '      clockTolerance: LIMITS.principalClockSkewSeconds,\n',
      to: '',
    },
    {
      breaks: 'auth.principal.keys-rotate',
      from: 'if (error instanceof errors.JWKSNoMatchingKey)',
      to: 'if (false)',
    },
    { breaks: 'auth.principal.keys-away', from: 'throw unreadable(error)', to: "throw tokenRefused('away')" },
    { breaks: 'auth.principal.proven', from: 'groups: groupsOf(claims, groupsClaim)', to: 'groups: []' },
  ],
  'packages/server/src/accounts/principals/issuer-keys.ts': [
    {
      breaks: 'auth.principal.keys-rotate',
      from: 'atMost(LIMITS.issuerKeysRetrySeconds, jwksUri)',
      to: 'atMost(0, jwksUri)',
    },
    {
      breaks: 'auth.principal.keys-rotate',
      from: 'atMost(LIMITS.issuerKeysSeconds, jwksUri)',
      to: 'atMost(LIMITS.issuerKeysSeconds * 2, jwksUri)',
    },
  ],
  'packages/server/src/base/outbound/checked-request.ts': [
    { breaks: 'auth.principal.keys-address', from: 'if (isIP(host) !== 0) accept(host)', to: '' },
    {
      breaks: 'auth.principal.keys-address',
      from: 'for (const { address } of found) accept(address)',
      to: '',
    },
  ],
  'packages/server/src/store/accounts/issuers.ts': [
    {
      breaks: 'auth.principal.tenants',
      from: 'from issuers where tenant_id = ${tenantId} and issuer = ${issuer}`\n  return row',
      to: 'from issuers where issuer = ${issuer}`\n  return row',
    },
  ],
  'packages/server/sql/functions/create_session.sql': [
    {
      breaks: 'auth.principal.token-once',
      from: 'as t (issuer text, jti_hash text, expires_at timestamptz);',
      to: 'as t (issuer text, jti_hash text, expires_at timestamptz) on conflict do nothing;',
    },
  ],
  'packages/server/src/sessions/create-session.ts': [
    {
      breaks: 'auth.principal.required',
      from: "if (plan.needsProof && token === null) throw new ApiError('PRINCIPAL_NOT_PROVEN')",
      to: '',
    },
    {
      breaks: 'auth.principal.reserved',
      from: 'if (claimsProof(principal)) throw refuse(PROOF_IS_RESERVED)',
      to: '',
    },
    { breaks: 'auth.principal.shown', from: "token === null ? 'as_told' : 'proven'", to: "'proven'" },
  ],
  'packages/server/src/store/sessions/sessions.ts': [
    {
      breaks: 'auth.principal.reserved',
      from: "row.principalProof === 'proven' ? row.principal : toldPrincipal(row.principal)",
      to: 'row.principal',
    },
  ],
  'packages/sdk/src/authority/remote/link.ts': [
    { breaks: 'option.principal-token.needs-server', from: ' && !local.plan.needsProof', to: '' },
  ],
  'packages/sdk/src/session/core/load-plan.ts': [
    { breaks: 'option.principal-token.needs-server', from: '  checkProof(plan, settings)\n', to: '' },
  ],
  'packages/sdk/src/authority/remote/session-api.ts': [
    {
      breaks: 'option.principal-token',
      from: '    ...(token !== null && { principal_token: await token() }),\n',
      to: '',
    },
  ],
  'packages/gateway/src/base/principal-header.ts': [
    {
      breaks: 'gateway.principal-token',
      from: 'before === null || namedBy(before) === namedBy(token)',
      to: 'before === null || before !== null',
    },
  ],
  'packages/engine/src/explain/diff-plans.ts': [
    { breaks: 'people.plan-diff.proof', from: "was.length === 0 ? 'blocks' : 'changes'", to: "'changes'" },
  ],
  'packages/engine/src/judge/rules/draws.ts': [
    {
      breaks: 'auth.principal.apart',
      from: 'if (id === null || !isRecord || !isProven(principal)) return id',
      to: 'if (id !== null || !isRecord || !isProven(principal)) return id',
    },
  ],
}
