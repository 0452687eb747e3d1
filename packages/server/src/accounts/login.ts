import type { Input, Reply, Routes } from '@countersign/protocol'
import { addressKey } from '../base/address-key.js'
import { ApiError } from '../base/api-error.js'
import { auditByEmail } from '../context/audit.js'
import type { OpenContext } from '../context/context.js'
import { inEntrance } from '../entry/senders.js'
import { type Credentials, emailKey, findCredentials, loadUser, rehashPassword } from '../store/accounts/accounts.js'
import { browserOf, knowBrowser } from './browser.js'
import { requireToken } from './limits.js'
import { signIn } from './sign-in.js'
import { userView } from './user-view.js'
import { requirePasswords } from './what-is-open.js'

type Body = Input<Routes['login']>['body']

/** Known and unknown addresses, right and wrong passwords cost the same statements and the same hashing up to the verdict. */
export async function login(ctx: OpenContext, { body }: { body: Body }): Promise<Reply<Routes['login']>> {
  requirePasswords(ctx)
  const key = emailKey(body.email)
  const { deviceId, applicant } = browserOf(ctx, key)
  if (deviceId === null) await limitStranger(ctx, key)
  else await requireToken(ctx, 'login_device', `${deviceId} ${key}`)
  const credentials = await inEntrance(ctx, (sql) => findCredentials(sql, key))
  const matches = await ctx.app.accounts.passwords.verify(body.password, credentials?.passwordHash ?? null, applicant)
  const granted = matches && credentials !== undefined
  const audited = { emailKey: key, action: granted ? 'login' : 'login_failed' } as const
  await inEntrance(ctx, (sql) => auditByEmail(sql, ctx, audited))
  if (!granted) throw new ApiError('UNAUTHENTICATED')
  const proven = await withTodaysHash(ctx, credentials, body)
  await inEntrance(ctx, (sql) => sql.begin((tx) => signIn(ctx, tx, { ...proven, method: 'password' })))
  knowBrowser(ctx, key)
  const user = await inEntrance(ctx, (sql) => loadUser(sql, credentials.tenantId, credentials.userId))
  if (user === undefined) throw new ApiError('UNAUTHENTICATED')
  return { user: userView(user) }
}

/** Wrong tries of strangers slow strangers: a browser that has signed in to the account before is not counted here. */
async function limitStranger(ctx: OpenContext, key: string): Promise<void> {
  const address = addressKey(ctx.request.clientAddress)
  await requireToken(ctx, 'login_ip', address)
  // One after another: tries that are refused already leave nothing behind, and use up nothing of the account's.
  await requireToken(ctx, 'login_pair', `${address} ${key}`)
  await requireToken(ctx, 'login_email', key)
}

/** A password that was hashed with other parameters than today's is hashed anew while it is at hand. */
async function withTodaysHash(ctx: OpenContext, proven: Credentials, body: Body): Promise<Credentials> {
  const { passwords } = ctx.app.accounts
  if (proven.passwordHash === null) throw new ApiError('UNAUTHENTICATED')
  if (!passwords.isOutdated(proven.passwordHash)) return proven
  const by = { owner: emailKey(body.email), isKnown: true }
  const passwordHash = await passwords.hash(body.password, by)
  const isStored = await inEntrance(ctx, (sql) => rehashPassword(sql, proven, passwordHash))
  if (isStored) return { ...proven, passwordHash }
  // Another sign-in was quicker, or the password is another one by now.
  const today = await inEntrance(ctx, (sql) => findCredentials(sql, emailKey(body.email)))
  if (today !== undefined && (await passwords.verify(body.password, today.passwordHash, by))) return today
  throw new ApiError('UNAUTHENTICATED')
}
