import type { Bugs } from './sabotages.js'

/** Members, roles, invitations and what keys are for. */
export const peopleSabotages: Bugs = {
  'packages/server/src/entry/authorize.ts': [
    { breaks: 'people.roles', from: 'if (!roleIncludes(role, route.role)) {', to: 'if (false) {' },
  ],
  'packages/server/src/store/accounts/refresh-tokens.ts': [
    {
      breaks: 'people.roles.at-once',
      from: ' and r.expires_at > statement_timestamp() and u.disabled_at is null`\n  return row',
      to: ' and r.expires_at > statement_timestamp()`\n  return row',
    },
    {
      breaks: 'people.password-change',
      from: 'and (${but}::text is null or refresh_id <> ${but})',
      to: 'and ${but}::text is null',
    },
    {
      breaks: 'people.tenants-apart',
      from: 'and user_id = ${user.userId} and refresh_id = ${refreshId} and revoked_at is null',
      to: 'and refresh_id = ${refreshId} and revoked_at is null',
    },
  ],
  'packages/server/src/accounts/members/member-changes.ts': [
    {
      breaks: 'people.last-owner',
      from: "  if ((await countOwners(tx, named.tenantId)) === 0) return 'last owner'\n  const after",
      to: '  const after',
    },
    {
      breaks: 'people.roles.at-once',
      from: '  if (disabled) await revokeRefreshTokensOf(tx, named)\n',
      to: '',
    },
  ],
  'packages/server/src/context/work.ts': [
    {
      breaks: 'auth.key.maximum-active',
      from: '!(await lockTenant(tx, tenant.tenantId)) || ',
      to: '',
    },
  ],
  'packages/server/src/store/accounts/invitations.ts': [
    {
      breaks: 'people.invitation',
      from: ' and i.expires_at > statement_timestamp()',
      to: '',
    },
    {
      breaks: 'people.invitation',
      from: "const IS_OPEN = 'i.ended_at is null and ",
      to: "const IS_OPEN = '",
    },
  ],
  'packages/server/src/store/accounts/members.ts': [
    {
      breaks: 'people.removed',
      from: "update users set email = 'removed', ",
      to: 'update users set ',
    },
  ],
  'packages/server/src/accounts/what-is-open.ts': [
    {
      breaks: 'people.signup-closed',
      from: "signup === null ? mode === 'development' : ",
      to: 'signup === null ? true : ',
    },
    { breaks: 'people.passwords-off', from: 'if (!app.config.passwords) throw', to: 'if (false) throw' },
  ],
  'packages/server/src/context/audit.ts': [
    { breaks: 'people.audit', from: '  signedInBy: signIn?.method ?? null,\n', to: '' },
  ],
  'packages/server/src/entry/authenticate.ts': [
    { breaks: 'key.access', from: '  requireAccess(key.route, holder.scope.access)\n', to: '' },
  ],
  'packages/server/src/entry/key-scope.ts': [
    { breaks: 'key.bound', from: "if (about === 'body') requireNamed(scope, body)", to: "if (about === 'body') {}" },
    {
      breaks: 'key.bound',
      from: '(scope.environment === null || environment === undefined || environment === scope.environment)',
      to: 'true',
    },
  ],
  'packages/server/sql/functions/enter.sql': [
    { breaks: 'key.expiry', from: '(k.expires_at is null or k.expires_at > clock_timestamp())', to: 'true' },
  ],
  'packages/server/src/accounts/oidc.ts': [
    { breaks: 'people.oidc.address', from: ' || !person.emailVerified', to: '' },
    {
      breaks: 'people.oidc',
      from: "if (invitation === undefined && provider.create === 'none') throw",
      to: 'if (false) throw',
    },
    { breaks: 'people.oidc.flow', from: 'isOwnPath(next) ? next : ', to: 'next !== null ? next : ' },
    {
      breaks: 'people.oidc.groups',
      from: 'if (roles !== undefined && role === undefined) throw',
      to: 'if (false) throw',
    },
  ],
  'packages/server/src/base/crypto/oidc-flows.ts': [
    {
      breaks: 'people.oidc.flow',
      from: '        .setExpirationTime(seconds + FLOW_SECONDS)',
      to: '        .setExpirationTime(seconds + 86_400)',
    },
  ],
}
