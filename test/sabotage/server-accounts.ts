import type { Bugs } from './sabotages.js'

/** Passwords, keys, tokens and limits of accounts. */
export const accountSabotages: Bugs = {
  'packages/server/src/base/crypto/passwords.ts': [
    {
      breaks: 'auth.password.constant-time',
      from: 'timingSafeEqual(await derive(password, salt, own), key)',
      to: '(await derive(password, salt, own)).equals(key)',
    },
    {
      breaks: 'auth.password.constant-time',
      from: '      await derive(password, randomBytes(SALT_BYTES), level)\n',
      to: '',
    },
    {
      breaks: 'auth.password.salt',
      from: 'const salt = randomBytes(SALT_BYTES)',
      to: 'const salt = Buffer.alloc(SALT_BYTES)',
    },
  ],
  'packages/server/src/base/crypto/secrets.ts': [
    {
      breaks: 'auth.key.entropy',
      from: 'random(24).toString',
      to: 'Buffer.concat([random(12), Buffer.alloc(12)]).toString',
    },
    { breaks: 'auth.reset.token', from: 'random(32).toString', to: 'random(16).toString' },
  ],
  'packages/server/src/base/crypto/tokens.ts': [
    {
      breaks: 'auth.session.signature',
      from: 'algorithms: [ALGORITHM],',
      to: "algorithms: [ALGORITHM, 'HS384', 'HS512'],",
    },
  ],
  'packages/server/src/accounts/limits.ts': [
    {
      breaks: 'limit.signup',
      from: 'signup_ip: { capacity: LIMITS.signupsPerHourPerIp, fillSeconds: HOUR_SECONDS }',
      to: 'signup_ip: { capacity: LIMITS.signupsPerHourPerIp, fillSeconds: 600 }',
    },
  ],
  'packages/server/src/accounts/signup.ts': [
    {
      breaks: 'auth.verification.no-wait',
      from: '  ctx.app.accounts.mail.wake()\n',
      to: '  await ctx.app.accounts.mail.idle()\n',
    },
  ],
  'packages/server/src/accounts/request-mail.ts': [
    { breaks: 'limit.forgot-password.others', from: 'isQuiet ? key : address', to: 'key' },
    {
      breaks: 'limit.forgot-password',
      from: "waitSeconds === 0 ? key : ''",
      to: 'key',
    },
  ],
  'packages/server/src/accounts/reset-password.ts': [
    {
      breaks: 'account.password-reset',
      from: 'await revokeRefreshTokensOf(tx, owner',
      to: 'if (!owner.verified) await revokeRefreshTokensOf(tx, owner',
    },
  ],
  'packages/server/src/store/accounts/mail.ts': [
    {
      breaks: 'auth.reset.single-use',
      from: 'update mail_tokens t set used_at',
      to: 'update mail_tokens t set voided_at',
    },
    { breaks: 'auth.reset.invalidates-older', from: 'and kind = ${token.kind}\n', to: 'and kind <> ${token.kind}\n' },
  ],
  'packages/server/sql/functions/take_tokens.sql': [
    { breaks: 'limit.token-bucket', from: '* p_capacity / p_fill_seconds', to: '* 0 / p_fill_seconds' },
  ],
  'packages/server/src/store/accounts/api-keys.ts': [
    {
      breaks: 'auth.key.last-used',
      from: 'greatest(k.last_used_at, used.at)',
      to: 'coalesce(k.last_used_at, used.at)',
    },
  ],
  'packages/server/sql/functions/enter.sql': [
    { breaks: 'auth.order.revoked', from: ' and k.revoked_at is null', to: '' },
    { breaks: 'scale.write-functions', from: 'h.tenant_id = p_tenant and', to: '' },
  ],
  'packages/server/src/store/accounts/members.ts': [
    { breaks: 'scale.directory', from: "    'email',\n    keys.map", to: "    'mail',\n    keys.map" },
  ],
  'packages/server/src/entry/authenticate.ts': [
    { breaks: 'scale.directory', from: 'if (known !== undefined) return known', to: '' },
    {
      breaks: 'auth.key.last-used',
      from: '  keys.keyUsage.note(holder.tenantId, holder.keyId)\n',
      to: '  keys.keyUsage.note(holder.tenantId, holder.keyId)\n  await keys.keyUsage.flush()\n',
    },
  ],
  'packages/server/src/entry/session-cookies.ts': [
    { breaks: 'auth.cookie.secure', from: "${secure ? '; Secure' : ''}", to: '' },
    {
      breaks: 'limit.fair.cookies',
      from: 'if (header === null) return undefined\n',
      to: "if (header === null) return undefined\n  if (header.split(';').every((part) => part.trim().split('=', 2)[0] !== wanted)) return undefined\n",
    },
  ],
  'packages/server/src/base/redact.ts': [
    {
      breaks: 'auth.logs.redacted',
      from: 'SECRET_NAMES.some((secret) => name.includes(secret))',
      to: 'SECRET_NAMES.some((secret) => name === secret)',
    },
  ],
}
