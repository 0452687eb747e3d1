import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../../api-error.js'
import type { OpenContext } from '../../context.js'
import { emailKey, findCredentials, loadUser, updatePassword } from '../../store/accounts.js'
import { insertAuditEntryByEmail } from '../../store/audit.js'
import { addressKey, requireAll } from './limits.js'
import { signIn } from './sign-in.js'
import { userView } from './user-view.js'

/** Known and unknown addresses, right and wrong passwords cost the same statements and the same hashing up to the verdict. */
export async function login(ctx: OpenContext, { body }: Input<Routes['login']>): Promise<Reply<Routes['login']>> {
  const key = emailKey(body.email)
  await requireAll(ctx, [
    ['login_email', key],
    ['login_ip', addressKey(ctx.clientAddress)],
  ])
  const credentials = await findCredentials(ctx.sql, key)
  const matches = await ctx.accounts.passwords.verify(body.password, credentials?.passwordHash ?? null)
  const granted = matches && credentials !== undefined
  await insertAuditEntryByEmail(ctx.sql, {
    emailKey: key,
    action: granted ? 'login' : 'login_failed',
    at: ctx.clock(),
    ip: ctx.clientAddress,
  })
  if (!granted) throw new ApiError('UNAUTHENTICATED')
  if (ctx.accounts.passwords.isOutdated(credentials.passwordHash)) {
    await updatePassword(ctx.sql, credentials, await ctx.accounts.passwords.hash(body.password))
  }
  await signIn(ctx, ctx.sql, credentials)
  const user = await loadUser(ctx.sql, credentials.tenantId, credentials.userId)
  if (user === undefined) throw new ApiError('UNAUTHENTICATED')
  return { user: userView(user) }
}
