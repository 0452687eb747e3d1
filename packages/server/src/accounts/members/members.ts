import { type Input, LIMITS, type Member, type Reply, type Routes } from '@countersign/protocol'
import { ApiError } from '../../base/api-error.js'
import { makeId } from '../../base/crypto/secrets.js'
import { audit } from '../../context/audit.js'
import type { UserContext } from '../../context/context.js'
import { inRead, inTenantTransaction, inTransaction } from '../../context/work.js'
import {
  type InvitationRow,
  listInvitations,
  replaceInvitation,
  revokeInvitation as revokeStored,
} from '../../store/accounts/invitations.js'
import { queueInvitation } from '../../store/accounts/mail.js'
import { isMember, listMembers as listStored, loadMember, type MemberRow } from '../../store/accounts/members.js'
import { changeMember as changeStored, placeWords, removeMember as removeStored } from './member-changes.js'

/** What owners do with the members of their tenant. */

export async function listMembers(ctx: UserContext): Promise<Reply<Routes['listMembers']>> {
  const { tenantId } = ctx.tenant
  return inRead(ctx, async (sql) => ({
    members: (await listStored(sql, tenantId)).map(memberView),
    invitations: (await listInvitations(sql, tenantId)).map(invitationView),
    mail: ctx.app.accounts.mailDelivery,
  }))
}

/** The mail is written when it is sent, and the link in it is stored nowhere. */
export async function inviteMember(
  ctx: UserContext,
  { body }: Input<Routes['inviteMember']>,
): Promise<Reply<Routes['inviteMember']>> {
  const { tenantId, email: invitedBy } = ctx.signIn
  const { random, accounts } = ctx.app
  const invitationId = makeId(random, 'inv')
  const lifeSeconds = LIMITS.invitationDays * 24 * 3_600
  const stored = await inTenantTransaction(ctx, async (tx) => {
    const open = await listInvitations(tx, tenantId)
    if (open.length >= MOST_INVITATIONS) {
      throw new ApiError('RATE_LIMITED', { detail: `${MOST_INVITATIONS} invitations wait already: revoke some` })
    }
    if (await isMember(tx, tenantId, body.email))
      throw new ApiError('EMAIL_TAKEN', { detail: 'this person is a member already' })
    await replaceInvitation(tx, { tenantId, invitationId, ...body, invitedBy, lifeSeconds, tokenHash: null })
    await queueInvitation(tx, { tenantId, invitationId, mailId: makeId(random, 'mail') })
    await audit(tx, ctx, { action: 'member_invited', subject: body.email, detail: placeWords(body) })
    return (await listInvitations(tx, tenantId)).find((one) => one.invitationId === invitationId)
  })
  if (stored === undefined) throw new Error('the invitation was not stored')
  accounts.mail.wake()
  return invitationView(stored)
}

const MOST_INVITATIONS = 1_000

export async function revokeInvitation(
  ctx: UserContext,
  { params }: Input<Routes['revokeInvitation']>,
): Promise<Reply<Routes['revokeInvitation']>> {
  await inTransaction(ctx, async (tx) => {
    const named = { tenantId: ctx.tenant.tenantId, invitationId: params.invitation_id }
    const email = await revokeStored(tx, named)
    if (email === undefined) throw new ApiError('NOT_FOUND')
    await audit(tx, ctx, { action: 'invitation_revoked', subject: email })
  })
  return { ok: true }
}

/** From the member's next request on. A disabled member is signed out. */
export async function changeMember(
  ctx: UserContext,
  { params, body }: Input<Routes['changeMember']>,
): Promise<Reply<Routes['changeMember']>> {
  return memberView(await change(ctx, params.user_id, (tx, named) => changeStored(tx, named, body)))
}

export async function removeMember(
  ctx: UserContext,
  { params }: Input<Routes['removeMember']>,
): Promise<Reply<Routes['removeMember']>> {
  await change(ctx, params.user_id, removeStored)
  return { ok: true }
}

async function change(ctx: UserContext, userId: string, apply: typeof removeStored): Promise<MemberRow> {
  const named = { tenantId: ctx.tenant.tenantId, userId }
  return inTenantTransaction(ctx, async (tx) => {
    const before = await loadMember(tx, named.tenantId, userId)
    if (before === undefined) throw new ApiError('NOT_FOUND')
    const acts = await apply(tx, named)
    if (acts === 'last owner') throw new ApiError('LAST_OWNER')
    for (const act of acts) await audit(tx, ctx, act)
    return (await loadMember(tx, named.tenantId, userId)) ?? before
  })
}

const memberView = (row: MemberRow): Member => ({
  user_id: row.userId,
  email: row.email,
  name: row.name,
  role: row.role,
  groups: row.groups,
  disabled_at: row.disabledAt?.toISOString() ?? null,
  joined_at: row.createdAt.toISOString(),
  last_sign_in: row.signedInAt === null ? null : { at: row.signedInAt.toISOString(), method: row.method ?? 'password' },
})

const invitationView = (row: InvitationRow): Reply<Routes['inviteMember']> => ({
  invitation_id: row.invitationId,
  email: row.email,
  role: row.role,
  groups: row.groups,
  invited_by: row.invitedBy,
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt.toISOString(),
})
