import type { Input, Reply, Routes } from '@countersign/protocol'
import { addressKey } from '../base/address-key.js'
import { ApiError } from '../base/api-error.js'
import { makeApiKey, makeId } from '../base/crypto/secrets.js'
import { auditPerson } from '../context/audit.js'
import type { OpenContext } from '../context/context.js'
import { emailKey, insertAccount, loadUser } from '../store/accounts/accounts.js'
import { insertKey } from '../store/accounts/api-keys.js'
import { queueMailByEmail } from '../store/accounts/mail.js'
import { knowBrowser, stranger } from './browser.js'
import { requireToken } from './limits.js'
import { signIn } from './sign-in.js'
import { userView } from './user-view.js'
import { isSignupOpen, requirePasswords } from './what-is-open.js'

/** A tenant, its first user, its first key (shown here and never again), and a verification mail that is not waited for. */
export async function signup(ctx: OpenContext, { body }: Input<Routes['signup']>): Promise<Reply<Routes['signup']>> {
  if (!isSignupOpen(ctx.app.config)) throw new ApiError('SIGNUP_CLOSED')
  requirePasswords(ctx)
  await requireToken(ctx, 'signup_ip', addressKey(ctx.request.clientAddress))
  const passwordHash = await ctx.app.accounts.passwords.hash(body.password, stranger(ctx.request.clientAddress))
  const tenantId = makeId(ctx.app.random, 'tn')
  const userId = makeId(ctx.app.random, 'us')
  const key = makeApiKey(ctx.app.random)
  const user = await ctx.app.database.transaction(tenantId, async (tx) => {
    const created = await insertAccount(tx, {
      tenantId,
      userId,
      email: body.email,
      name: body.name ?? null,
      organisation: body.organisation ?? body.email,
      passwordHash,
      quota: ctx.app.config.defaultQuota,
    })
    if (!created) throw new ApiError('EMAIL_TAKEN')
    await insertKey(tx, {
      tenantId,
      keyId: makeId(ctx.app.random, 'key'),
      userId,
      name: 'first key',
      prefix: key.prefix,
      keyHash: key.hash,
    })
    await queueMailByEmail(tx, {
      mailId: makeId(ctx.app.random, 'mail'),
      emailKey: emailKey(body.email),
      kind: 'verify',
    })
    await auditPerson(tx, ctx, { tenantId, userId, email: body.email, action: 'signup' })
    await signIn(ctx, tx, { tenantId, userId, passwordHash, method: 'password' })
    return loadUser(tx, tenantId, userId)
  })
  if (user === undefined) throw new Error('the account was not stored')
  knowBrowser(ctx, emailKey(body.email))
  ctx.app.accounts.mail.wake()
  return { user: userView(user), api_key: key.raw, mail: ctx.app.accounts.mailDelivery }
}
