import { type Input, LIMITS, type Reply, type Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { OpenContext } from '../context/context.js'
import { authenticateCookie } from '../entry/authenticate-cookie.js'
import { inEntrance } from '../entry/senders.js'
import { loadUser } from '../store/accounts/accounts.js'
import { requestMail } from './request-mail.js'

/**
 * Sends the verification mail once more, at most three times an hour for one address. A stranger who names an address
 * learns nothing about it: unknown and verified ones are answered, and limited, like those that wait for the mail.
 */
export async function resendVerification(
  ctx: OpenContext,
  { body }: Input<Routes['resendVerification']>,
): Promise<Reply<Routes['resendVerification']>> {
  const waitSeconds = await requestMail(ctx, body.email ?? (await ownAddress(ctx)), 'verify', 'resend')
  if (waitSeconds > 0) throw tooMany(waitSeconds)
  return { ok: true, mail: ctx.app.accounts.mailDelivery }
}

/** The address of the person who is signed in. */
async function ownAddress(ctx: OpenContext): Promise<string> {
  const { accessTokens, deviceTokens, secureCookies: secure } = ctx.app.accounts
  const cookies = { accessTokens, deviceTokens, secure, now: ctx.app.clock() }
  const { http, replyHeaders } = ctx.request
  const user = await inEntrance(ctx, async (sql) => {
    const signIn = await authenticateCookie({ sql, ...cookies }, http, replyHeaders).catch(nullIfSignedOut)
    return signIn === null ? undefined : loadUser(sql, signIn.tenantId, signIn.userId)
  })
  if (user === undefined) throw refused('body.email: expected the address of an account, unless you are signed in')
  if (user.emailVerifiedAt !== null) throw refused('the address of this account is verified already: no email is sent')
  return user.email
}

function nullIfSignedOut(error: unknown): null {
  if (error instanceof ApiError && error.code === 'UNAUTHENTICATED') return null
  throw error
}

const refused = (detail: string) => new ApiError('INVALID_REQUEST', { detail })

const tooMany = (waitSeconds: number) =>
  new ApiError(
    'RATE_LIMITED',
    {
      detail: `no email is sent: ${LIMITS.resendVerificationPerHour} an hour can be asked for; the next in ${waitSeconds} seconds`,
      retry_after_seconds: waitSeconds,
    },
    { 'retry-after': String(waitSeconds) },
  )
