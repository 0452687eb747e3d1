import type { Role } from '@countersign/protocol'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { daysAgo } from '../days-ago.js'
import { deleteTokens, enterDirectory, findTenant, leaveDirectory } from '../directory.js'
import { emailKey } from './accounts.js'

export interface InvitationRow {
  tenantId: string
  invitationId: string
  email: string
  role: Role
  groups: string[]
  invitedBy: string
  createdAt: Date
  expiresAt: Date
}

export interface NewInvitation {
  tenantId: string
  invitationId: string
  email: string
  role: Role
  groups: readonly string[]
  invitedBy: string
  lifeSeconds: number
  /** Null: it is made when the mail is. */
  tokenHash: Buffer | null
}

/** A new invitation of an address ends the one before it. */
export async function replaceInvitation(tx: Tx, invitation: NewInvitation): Promise<void> {
  const { tenantId, email, tokenHash } = invitation
  if (tokenHash !== null) await enterDirectory(tx, 'invitation', tokenHash, tenantId)
  await tx`
    update invitations set ended_at = statement_timestamp()
    where tenant_id = ${tenantId} and email_key = ${emailKey(email)} and ended_at is null`
  await tx`
    insert into invitations
      (tenant_id, invitation_id, email, email_key, role, groups, token_hash, invited_by, created_at, expires_at)
    values (${tenantId}, ${invitation.invitationId}, ${email}, ${emailKey(email)}, ${invitation.role},
      ${[...invitation.groups]}::text[], ${tokenHash}, ${invitation.invitedBy}, statement_timestamp(),
      statement_timestamp() + make_interval(secs => ${invitation.lifeSeconds}))`
}

/** Its mail is written: the link in it is the only one that works. */
export async function giveToken(
  tx: Tx,
  { tenantId, invitationId, hash }: { tenantId: string; invitationId: string; hash: Buffer },
): Promise<void> {
  const before = await tx<{ tokenHash: Buffer | null }[]>`
    select token_hash from invitations
    where tenant_id = ${tenantId} and invitation_id = ${invitationId} and ended_at is null for update`
  const outdated = before.flatMap(({ tokenHash }) => tokenHash ?? [])
  if (before.length === 0) return
  await enterDirectory(tx, 'invitation', hash, tenantId)
  await leaveDirectory(tx, 'invitation', outdated)
  await tx`
    update invitations set token_hash = ${hash}
    where tenant_id = ${tenantId} and invitation_id = ${invitationId} and ended_at is null`
}

/** Those that can still be accepted, newest first. */
export function listInvitations(sql: Queryable, tenantId: string): Promise<InvitationRow[]> {
  return sql<InvitationRow[]>`
    select ${sql.unsafe(COLUMNS)} from invitations i
    where i.tenant_id = ${tenantId} and ${sql.unsafe(IS_OPEN)} order by i.created_at desc limit 1000`
}

const COLUMNS = 'i.tenant_id, i.invitation_id, i.email, i.role, i.groups, i.invited_by, i.created_at, i.expires_at'
const IS_OPEN = 'i.ended_at is null and i.expires_at > statement_timestamp()'

/** The invitation of a token; undefined when it is unknown, used, revoked or expired. */
export async function findInvitation(
  sql: Queryable,
  hash: Buffer,
): Promise<(InvitationRow & { tenantName: string }) | undefined> {
  const tenantId = await findTenant(sql, 'invitation', hash)
  const [row] = await sql<(InvitationRow & { tenantName: string })[]>`
    select ${sql.unsafe(COLUMNS)}, t.name as tenant_name from invitations i join tenants t using (tenant_id)
    where i.tenant_id = ${tenantId} and t.tenant_id = ${tenantId} and i.token_hash = ${hash} and ${sql.unsafe(IS_OPEN)}`
  return row
}

/** The open invitation of an address to a tenant. */
export async function findInvitationOf(
  sql: Queryable,
  tenantId: string,
  email: string,
): Promise<InvitationRow | undefined> {
  const [row] = await sql<InvitationRow[]>`
    select ${sql.unsafe(COLUMNS)} from invitations i
    where i.tenant_id = ${tenantId} and i.email_key = ${emailKey(email)} and ${sql.unsafe(IS_OPEN)}`
  return row
}

/** Uses an invitation up. False when it ended since it was found: of two at once one wins. */
export async function acceptInvitation(tx: Tx, row: InvitationRow, userId: string): Promise<boolean> {
  const rows = await tx`
    update invitations i set ended_at = statement_timestamp(), accepted_by = ${userId}
    where i.tenant_id = ${row.tenantId} and i.invitation_id = ${row.invitationId} and ${tx.unsafe(IS_OPEN)}
    returning 1`
  return rows.length === 1
}

/** The address that was invited; undefined when there is no such open invitation. */
export async function revokeInvitation(
  tx: Tx,
  { tenantId, invitationId }: { tenantId: string; invitationId: string },
): Promise<string | undefined> {
  const [row] = await tx<{ email: string }[]>`
    update invitations i set ended_at = statement_timestamp()
    where i.tenant_id = ${tenantId} and i.invitation_id = ${invitationId} and ${tx.unsafe(IS_OPEN)}
    returning i.email`
  return row?.email
}

/** Removes invitations that ended more than `days` ago, some at once. Returns how many went. */
export function deleteEndedInvitations(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteTokens(
    sql,
    'invitation',
    sql`least(expires_at, coalesce(ended_at, expires_at)) < ${daysAgo(sql, days)}
      and not exists (
        select 1 from mail_queue m where m.tenant_id = invitations.tenant_id and m.invitation_id = invitations.invitation_id
      )`,
    limit,
  )
}
