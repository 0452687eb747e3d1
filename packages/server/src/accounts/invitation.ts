import type { Input, Reply, Routes } from '@countersign/protocol'
import { addressKey } from '../base/address-key.js'
import { ApiError } from '../base/api-error.js'
import { makeId, sha256 } from '../base/crypto/secrets.js'
import { auditPerson } from '../context/audit.js'
import type { OpenContext } from '../context/context.js'
import { inEntrance } from '../entry/senders.js'
import { emailKey, loadUser } from '../store/accounts/accounts.js'
import { acceptInvitation as acceptStored, findInvitation } from '../store/accounts/invitations.js'
import { insertMember, setGroups } from '../store/accounts/members.js'
import { knowBrowser, stranger } from './browser.js'
import { requireToken } from './limits.js'
import { signIn } from './sign-in.js'
import { userView } from './user-view.js'
import { requirePasswords } from './what-is-open.js'

/** What an invited person sees before joining. Reading changes nothing: mail scanners follow links. */
export async function readInvitation(
  ctx: OpenContext,
  { body }: Input<Routes['readInvitation']>,
): Promise<Reply<Routes['readInvitation']>> {
  await requireToken(ctx, 'token_ip', addressKey(ctx.request.clientAddress))
  const found = await inEntrance(ctx, (sql) => findInvitation(sql, sha256(body.token)))
  if (found === undefined) throw new ApiError('INVALID_TOKEN')
  const { email, role, tenantName, invitedBy } = found
  return { email, role, tenant_name: tenantName, invited_by: invitedBy }
}

/** The link proves the address. All or nothing: the invitation is used up, and the member is in. */
export async function acceptInvitation(
  ctx: OpenContext,
  { body }: Input<Routes['acceptInvitation']>,
): Promise<Reply<Routes['acceptInvitation']>> {
  requirePasswords(ctx)
  await requireToken(ctx, 'token_ip', addressKey(ctx.request.clientAddress))
  const { database, accounts, random } = ctx.app
  const passwordHash = await accounts.passwords.hash(body.password, stranger(ctx.request.clientAddress))
  const userId = makeId(random, 'us')
  const user = await database.transaction('accounts', async (tx) => {
    const invitation = await findInvitation(tx, sha256(body.token))
    if (invitation === undefined || !(await acceptStored(tx, invitation, userId))) throw new ApiError('INVALID_TOKEN')
    const { tenantId, email, role, groups } = invitation
    const member = { tenantId, userId, email, name: body.name ?? null, passwordHash, role }
    if (!(await insertMember(tx, member))) throw new ApiError('EMAIL_TAKEN')
    await setGroups(tx, member, groups)
    const detail = `${role}, invited by ${invitation.invitedBy}`
    await auditPerson(tx, ctx, { ...member, method: 'invitation', action: 'member_joined', subject: userId, detail })
    await signIn(ctx, tx, { tenantId, userId, passwordHash, method: 'invitation' })
    return loadUser(tx, tenantId, userId)
  })
  if (user === undefined) throw new Error('the member was not stored')
  knowBrowser(ctx, emailKey(user.email))
  return { user: userView(user) }
}
