import { randomBytes } from 'node:crypto'
import { LIMITS, type Role } from '@countersign/protocol'
import { changeMember, type MemberChange, placeWords, removeMember } from '../accounts/members/member-changes.js'
import { addressOf, type Config } from '../base/config.js'
import { makeId, makeToken } from '../base/crypto/secrets.js'
import { replaceInvitation } from '../store/accounts/invitations.js'
import { queueInvitation } from '../store/accounts/mail.js'
import { findMember, isMember, listMembers, type MemberRow } from '../store/accounts/members.js'
import { joinLink } from './mail/messages.js'
import { audit, holdTenant, inTransaction, OperatorError } from './operator.js'

/** What an operator does with the members of a tenant: it needs no owner, and makes the first one. */

export interface InvitedUser {
  readonly email: string
  readonly tenantId: string
  readonly role: Role
  readonly groups: readonly string[]
}

/** Invites a person, and returns the link with which they join: it works for any reader. Null: the running service mails it. */
export const inviteUser = (user: InvitedUser, how: 'link' | 'mail', config: Config): Promise<string | null> =>
  inTransaction(config, async (tx) => {
    const { tenantId, email } = user
    await holdTenant(tx, tenantId)
    if (await isMember(tx, tenantId, email)) throw new OperatorError(`${email} is a member already`)
    const invitationId = makeId(randomBytes, 'inv')
    const token = makeToken(randomBytes)
    const invitation = { ...user, invitationId, invitedBy: 'operator', lifeSeconds: LIMITS.invitationDays * 24 * 3_600 }
    await replaceInvitation(tx, { ...invitation, tokenHash: how === 'link' ? token.hash : null })
    await audit(tx, { tenantId, action: 'member_invited', subject: email, detail: placeWords(user) })
    if (how === 'link') return joinLink(addressOf(config), token.raw)
    await queueInvitation(tx, { tenantId, invitationId, mailId: makeId(randomBytes, 'mail') })
    return null
  })

export const usersOf = (tenantId: string, config: Config): Promise<MemberRow[]> =>
  inTransaction(config, async (tx) => {
    await holdTenant(tx, tenantId)
    return listMembers(tx, tenantId)
  })

export type UserChange = Pick<MemberChange, 'role' | 'disabled'> | 'remove'

/** From the member's next request on, on every instance. */
export const changeUser = (email: string, change: UserChange, config: Config): Promise<void> =>
  inTransaction(config, async (tx) => {
    const user = await findMember(tx, email)
    if (user === undefined)
      throw new OperatorError(`no user has the address ${email}: countersign user list shows who is there`)
    await holdTenant(tx, user.tenantId)
    const acts = change === 'remove' ? await removeMember(tx, user) : await changeMember(tx, user, change)
    if (acts === 'last owner') {
      throw new OperatorError(`${email} is the last owner who can sign in: make another member an owner first`)
    }
    for (const act of acts) await audit(tx, { tenantId: user.tenantId, ...act })
  })
