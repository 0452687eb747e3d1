import type { Input, Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { audit } from '../context/audit.js'
import type { UserContext } from '../context/context.js'
import { inFind, inRead, inTransaction } from '../context/work.js'
import { emailKey, findCredentials, updatePassword } from '../store/accounts/accounts.js'
import { setName } from '../store/accounts/members.js'
import {
  endSignIn as endStoredSignIn,
  listSignIns as listStored,
  revokeRefreshTokensOf,
} from '../store/accounts/refresh-tokens.js'
import { requireToken } from './limits.js'
import { requirePasswords } from './what-is-open.js'

/** What members do with their own account. */

export async function renameMyself(
  ctx: UserContext,
  { body }: Input<Routes['renameMyself']>,
): Promise<Reply<Routes['renameMyself']>> {
  await inTransaction(ctx, async (tx) => {
    await setName(tx, ctx.signIn, body.name)
    await audit(tx, ctx, { action: 'name_changed', subject: ctx.signIn.userId })
  })
  return { ok: true }
}

/** A stranger at an open browser does not know the password, and other sign-ins end. */
export async function changePassword(
  ctx: UserContext,
  { body }: Input<Routes['changePassword']>,
): Promise<Reply<Routes['changePassword']>> {
  requirePasswords(ctx)
  const { signIn, app } = ctx
  const by = { owner: emailKey(signIn.email), isKnown: true }
  await requireToken(ctx, 'password_change', signIn.userId)
  const known = await inFind(ctx, (sql) => findCredentials(sql, emailKey(signIn.email)))
  const stored = known?.userId === signIn.userId ? known.passwordHash : null
  if (!(await app.accounts.passwords.verify(body.current, stored, by)) || stored === null) {
    throw new ApiError('INVALID_REQUEST', { detail: 'body.current: this is not your password' })
  }
  const passwordHash = await app.accounts.passwords.hash(body.password, by)
  await inTransaction(ctx, async (tx) => {
    await updatePassword(tx, signIn, passwordHash)
    await revokeRefreshTokensOf(tx, signIn, signIn.refreshId)
    await audit(tx, ctx, { action: 'password_changed', subject: signIn.userId })
  })
  return { ok: true }
}

export async function listSignIns(ctx: UserContext): Promise<Reply<Routes['listSignIns']>> {
  const rows = await inRead(ctx, (sql) => listStored(sql, ctx.signIn))
  return {
    sign_ins: rows.map(({ refreshId, method, createdAt, expiresAt, ip, browser }) => ({
      sign_in_id: refreshId,
      method,
      started_at: createdAt.toISOString(),
      expires_at: expiresAt.toISOString(),
      ip,
      browser,
      current: refreshId === ctx.signIn.refreshId,
    })),
  }
}

export async function endSignIn(
  ctx: UserContext,
  { params }: Input<Routes['endSignIn']>,
): Promise<Reply<Routes['endSignIn']>> {
  await inTransaction(ctx, async (tx) => {
    if (!(await endStoredSignIn(tx, ctx.signIn, params.sign_in_id))) throw new ApiError('NOT_FOUND')
    await audit(tx, ctx, { action: 'sign_in_ended', subject: params.sign_in_id })
  })
  return { ok: true }
}
