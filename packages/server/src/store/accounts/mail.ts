import type { Queryable, Tx } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'
import { deleteTokens, enterDirectory, findTenant, findTenantOf } from '../directory.js'

export type TokenKind = 'reset' | 'verify'

/** To a member about the own account, or to an invited person. */
export type QueuedMail = {
  tenantId: string
  mailId: string
  attempts: number
  email: string
} & ({ kind: TokenKind; userId: string } | ({ kind: 'invite' } & Invited) | ({ kind: 'webhook' } & DisabledWebhook))

/** What the mail about a disabled webhook says. Null: it was removed meanwhile. */
interface DisabledWebhook {
  webhookUrl: string | null
  failingSince: Date | null
}

/** What the mail of an invitation says. */
interface Invited {
  invitationId: string
  invitedBy: string
  tenantName: string
}

/**
 * Queues a mail for the account with this address. The same statements for known and unknown addresses;
 * a verified account is not asked to verify again. Returns nothing: the caller must not know.
 */
export async function queueMailByEmail(
  sql: Queryable,
  mail: { mailId: string; emailKey: string; kind: TokenKind },
): Promise<void> {
  const tenantId = await findTenantOf(sql, mail.emailKey)
  await sql`
    insert into mail_queue (tenant_id, mail_id, user_id, kind, created_at, next_attempt_at)
    select tenant_id, ${mail.mailId}, user_id, ${mail.kind}, statement_timestamp(), statement_timestamp() from users
    where tenant_id = ${tenantId} and email_key = ${mail.emailKey} and (${mail.kind} = 'reset' or email_verified_at is null) and disabled_at is null`
}

/** Queues the mail of an invitation. */
export async function queueInvitation(
  tx: Tx,
  mail: { tenantId: string; mailId: string; invitationId: string },
): Promise<void> {
  await tx`
    insert into mail_queue (tenant_id, mail_id, invitation_id, kind, created_at, next_attempt_at)
    values (${mail.tenantId}, ${mail.mailId}, ${mail.invitationId}, 'invite', statement_timestamp(), statement_timestamp())`
}

/** Queues a mail to each owner: the webhook was disabled. */
export async function queueWebhookMails(
  tx: Tx,
  mail: { tenantId: string; mailId: string; webhookId: string },
): Promise<void> {
  await tx`
    insert into mail_queue (tenant_id, mail_id, user_id, webhook_id, kind, created_at, next_attempt_at)
    select u.tenant_id, ${mail.mailId}::text || '-' || u.user_id, u.user_id, ${mail.webhookId}, 'webhook',
      statement_timestamp(), statement_timestamp()
    from users u where u.tenant_id = ${mail.tenantId} and u.role = 'owner' and u.disabled_at is null
      and u.email_verified_at is not null`
}

/** Mails that are looked at for the next one: more than there are instances that may each hold one. */
const MOST_DUE = 50

/** The next mail that is due, locked until the transaction ends; undefined when there is none. Instances share the queue. */
export async function takeDueMail(tx: Tx): Promise<QueuedMail | undefined> {
  const isDue = tx`sent_at is null and given_up_at is null and next_attempt_at <= statement_timestamp()`
  const due = await tx<{ tenantId: string; mailId: string }[]>`
    ${across(tx, 'due mail')} select tenant_id, mail_id from mail_queue where ${isDue} order by next_attempt_at limit ${MOST_DUE}`
  for (const { tenantId, mailId } of due) {
    const held = await tx`
      select 1 from mail_queue where tenant_id = ${tenantId} and mail_id = ${mailId} and ${isDue} for update skip locked`
    if (held.length > 0) return loadMail(tx, tenantId, mailId)
  }
  return undefined
}

async function loadMail(tx: Tx, tenantId: string, mailId: string): Promise<QueuedMail | undefined> {
  const [row] = await tx<QueuedMail[]>`
    select m.tenant_id, m.mail_id, m.user_id, m.kind, m.attempts, m.invitation_id, i.invited_by,
      coalesce(u.email, i.email) as email, t.name as tenant_name,
      w.url as webhook_url, w.failing_since
    from mail_queue m
      join tenants t on t.tenant_id = ${tenantId}
      left join users u on u.tenant_id = ${tenantId} and u.user_id = m.user_id
      left join webhooks w on w.tenant_id = ${tenantId} and w.webhook_id = m.webhook_id
      left join invitations i on i.tenant_id = ${tenantId} and i.invitation_id = m.invitation_id
    where m.tenant_id = ${tenantId} and m.mail_id = ${mailId}`
  return row
}

/** Counts the attempt before it is made, so that a crash while sending cannot repeat it for ever. */
export async function beginAttempt(tx: Tx, mail: QueuedMail, retrySeconds: number): Promise<void> {
  await tx`
    update mail_queue set attempts = attempts + 1, next_attempt_at = statement_timestamp() + make_interval(secs => ${retrySeconds})
    where tenant_id = ${mail.tenantId} and mail_id = ${mail.mailId}`
}

export async function markSent(sql: Queryable, mail: QueuedMail): Promise<void> {
  await sql`update mail_queue set sent_at = statement_timestamp() where tenant_id = ${mail.tenantId} and mail_id = ${mail.mailId}`
}

export async function giveUp(sql: Queryable, mail: QueuedMail): Promise<void> {
  await sql`update mail_queue set given_up_at = statement_timestamp() where tenant_id = ${mail.tenantId} and mail_id = ${mail.mailId}`
}

export interface NewMailToken {
  tenantId: string
  tokenId: string
  userId: string
  kind: TokenKind
  hash: Buffer
  lifeSeconds: number
}

/** A new token voids the unused ones of its kind before it. */
export async function replaceMailToken(tx: Tx, token: NewMailToken): Promise<void> {
  await enterDirectory(tx, 'mail', token.hash, token.tenantId)
  await tx`
    update mail_tokens set voided_at = statement_timestamp()
    where tenant_id = ${token.tenantId} and user_id = ${token.userId} and kind = ${token.kind}
      and used_at is null and voided_at is null`
  await tx`
    insert into mail_tokens (tenant_id, token_id, user_id, kind, token_hash, created_at, expires_at)
    values (${token.tenantId}, ${token.tokenId}, ${token.userId}, ${token.kind}, ${token.hash}, statement_timestamp(),
      statement_timestamp() + make_interval(secs => ${token.lifeSeconds}))`
}

export interface TokenOwner {
  tenantId: string
  userId: string
  email: string
  /** Whether the tenant was verified before the token was used. */
  verified: boolean
}

/** Uses a token up. Undefined when it is unknown, of another kind, used, voided or expired: of two at once one wins. */
export async function consumeMailToken(
  tx: Tx,
  use: { hash: Buffer; kind: TokenKind },
): Promise<TokenOwner | undefined> {
  const tenantId = await findTenant(tx, 'mail', use.hash)
  const [row] = await tx<TokenOwner[]>`
    update mail_tokens t set used_at = statement_timestamp() from users u
    where t.tenant_id = ${tenantId} and t.token_hash = ${use.hash} and t.kind = ${use.kind} and t.used_at is null
      and t.voided_at is null and t.expires_at > statement_timestamp() and u.disabled_at is null
      and u.tenant_id = ${tenantId} and u.user_id = t.user_id
    returning t.tenant_id, t.user_id, u.email,
      (select n.verified_at is not null from tenants n where n.tenant_id = ${tenantId}) as verified`
  return row
}

/** Removes one-time tokens that expired more than `days` ago, some at once. Returns how many went. */
export function deleteOldMailTokens(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteTokens(sql, 'mail', sql`expires_at < ${daysAgo(sql, days)}`, limit)
}

/** Removes mails from more than `days` ago that were sent or given up, some at once. Returns how many went. */
export function deleteOldMail(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(
    sql,
    'mail_queue',
    sql`(sent_at is not null or given_up_at is not null) and created_at < ${daysAgo(sql, days)}`,
    limit,
  )
}
