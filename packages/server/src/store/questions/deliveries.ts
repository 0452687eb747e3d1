import { type Environment, LIMITS, type QuestionState } from '@countersign/protocol'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'
import { tellWebhooks, writtenReason } from './outbox.js'
import { mayAnswer } from './question-changes.js'

/** A notice that is due, with what its text says. */
export interface DueNotice extends NoticeKey {
  readonly attempts: number
  readonly toolName: string
  readonly agent: string | null
  readonly environment: Environment | null
  readonly rule: string
  /** As its contract says it. */
  readonly reason: string | null
  readonly state: QuestionState
  readonly expiresAt: Date
  /** Of a mail: the member's address; null for a member who is gone. */
  readonly email: string | null
}

interface NoticeKey {
  readonly tenantId: string
  readonly questionId: string
  readonly kind: string
  readonly channel: 'all' | 'mail'
  readonly recipient: string
}

/** Notices that are looked at for the next one: more than there are instances that may each hold one. */
const MOST_DUE = 50

/** In one mail. More are in the next one. */
const MOST_TOGETHER = 50

/**
 * What is due longest and no other instance has, begun: it is due again only after a while. Mails to the same member come
 * together, and none where the member has had so many that they wait. Null: nothing is due.
 */
export async function takeDueNotices(tx: Tx, retrySeconds: (attempts: number) => number): Promise<DueNotice[] | null> {
  const isDue = tx`d.next_at <= statement_timestamp() and d.channel <> 'webhook'`
  const due = await tx<NoticeKey[]>`
    ${across(tx, 'due notices')} select d.tenant_id, d.question_id, d.kind, d.channel, d.recipient
    from deliveries d where ${isDue} order by d.next_at limit ${MOST_DUE}`
  for (const key of due) {
    const held = await tx`select 1 from deliveries d where ${sameNotice(tx, key)} and ${isDue} for update skip locked`
    if (held.length === 0) continue
    if (key.channel === 'all') return [await begin(tx, key, retrySeconds)]
    if (await holdBack(tx, key)) return []
    const together = await tx<NoticeKey[]>`
      select d.tenant_id, d.question_id, d.kind, d.channel, d.recipient from deliveries d
      where ${toMember(tx, key)} and ${isDue} order by d.created_at limit ${MOST_TOGETHER} for update skip locked`
    const begun: DueNotice[] = []
    for (const one of together) begun.push(await begin(tx, one, retrySeconds))
    return begun
  }
  return null
}

const toMember = (sql: Queryable, { tenantId, recipient }: NoticeKey) => sql`
  d.tenant_id = ${tenantId} and d.channel = 'mail' and d.recipient = ${recipient}`

/** True where the member has had so many mails within an hour that the next one waits, with all that is due meanwhile. */
async function holdBack(tx: Tx, key: NoticeKey): Promise<boolean> {
  const [sent] = await tx<{ mails: number; until: Date | null; waits: boolean | null }[]>`
    select h.mails, h.until, h.until > statement_timestamp() as waits from (
      select count(distinct d.sent_at)::int as mails,
        max(d.sent_at) + make_interval(mins => ${LIMITS.noticeMailMinutes}) as until
      from deliveries d
      where ${toMember(tx, key)} and d.created_at > statement_timestamp() - interval '1 day'
        and d.sent_at > statement_timestamp() - interval '1 hour'
    ) h`
  if (sent === undefined || !sent.waits || sent.mails < LIMITS.noticeMailsPerHour) return false
  await tx`update deliveries d set next_at = ${sent.until} where ${toMember(tx, key)} and d.next_at < ${sent.until}`
  return true
}

async function begin(tx: Tx, key: NoticeKey, retrySeconds: (attempts: number) => number): Promise<DueNotice> {
  const notice = await loadNotice(tx, key)
  if (notice === null) throw new Error('a notice is about no question')
  await tx`
    update deliveries d set attempts = d.attempts + 1,
      next_at = statement_timestamp() + make_interval(secs => ${retrySeconds(notice.attempts)})
    where ${sameNotice(tx, key)}`
  return notice
}

async function loadNotice(tx: Tx, key: NoticeKey): Promise<DueNotice | null> {
  const { tenantId } = key
  const [row] = await tx<DueNotice[]>`
    select d.tenant_id, d.question_id, d.kind, d.channel, d.recipient, d.attempts, q.tool_name, q.agent, q.environment,
      q.rule, ${writtenReason(tx)} as reason, case when q.expires_at < statement_timestamp() then 'expired' else q.state end as state,
      q.expires_at, (
        select u.email from users u
        where u.tenant_id = ${tenantId} and u.user_id = d.recipient and u.disabled_at is null and d.channel = 'mail'
      ) as email
    from deliveries d join questions q on q.tenant_id = ${tenantId} and q.question_id = d.question_id
    where ${sameNotice(tx, key)}`
  return row ?? null
}

const sameNotice = (sql: Queryable, { tenantId, questionId, kind, channel, recipient }: NoticeKey) => sql`
  d.tenant_id = ${tenantId} and d.question_id = ${questionId} and d.kind = ${kind} and d.channel = ${channel}
    and d.recipient = ${recipient}`

/** To whom a notice to all goes that is due now. */
export async function fanOut(tx: Tx, notice: DueNotice): Promise<void> {
  const { tenantId, questionId, kind } = notice
  if (kind.startsWith('undelivered')) {
    if (!(await isToldByMail(tx, notice))) await tellWebhooks(tx, tenantId, { questionIds: [questionId], kind })
  } else {
    await addMails(tx, notice)
    // Webhooks were notified when it was asked.
    if (!kind.startsWith('asked')) await tellWebhooks(tx, tenantId, { questionIds: [questionId], kind })
  }
  await endNotice(tx, notice, null)
}

async function isToldByMail(tx: Tx, { tenantId, questionId }: NoticeKey): Promise<boolean> {
  const sent = await tx`
    select 1 from deliveries d
    where d.tenant_id = ${tenantId} and d.question_id = ${questionId} and d.channel = 'mail' and d.sent_at is not null
    limit 1`
  return sent.length > 0
}

/** One row for each member who can answer now. */
async function addMails(tx: Tx, { tenantId, questionId, kind }: NoticeKey): Promise<void> {
  await tx`
    insert into deliveries (tenant_id, question_id, kind, channel, recipient, next_at)
    select q.tenant_id, q.question_id, ${kind}, 'mail', u.user_id, statement_timestamp()
    from questions q join users u on u.tenant_id = ${tenantId}
    where q.tenant_id = ${tenantId} and q.question_id = ${questionId} and u.email_verified_at is not null
      and ${mayAnswer(tx, tenantId)} and not exists (
        select from answers a where a.tenant_id = ${tenantId} and a.question_id = q.question_id
          and a.card_no = q.card_no and a.user_id = u.user_id
      )
    on conflict do nothing`
}

/** It is not sent, or not again: `error` says why. Null: it has gone to each member. */
export async function endNotice(sql: Queryable, notice: NoticeKey, error: string | null): Promise<void> {
  await (error === null
    ? sql`
      update deliveries d set next_at = null, error = null, sent_at = statement_timestamp() where ${sameNotice(sql, notice)}`
    : sql`update deliveries d set next_at = null, error = ${error} where ${sameNotice(sql, notice)}`)
}

/** One mail with all of these was sent: they have one time. */
export async function noteMail(
  sql: Queryable,
  [first, ...others]: readonly [DueNotice, ...DueNotice[]],
): Promise<void> {
  const keys = [first, ...others].map(({ questionId, kind }) => ({ question_id: questionId, kind }))
  await sql`
    update deliveries d set next_at = null, error = null, sent_at = statement_timestamp()
    where ${toMember(sql, first)} and (d.question_id, d.kind) in (
      select n.question_id, n.kind from json_to_recordset(${JSON.stringify(keys)}::text::json) as n (question_id text, kind text))`
}

export async function noteFailure(sql: Queryable, notice: NoticeKey, error: string): Promise<void> {
  await sql`update deliveries d set error = ${error} where ${sameNotice(sql, notice)}`
}

export interface StoredDelivery {
  readonly kind: string
  readonly channel: 'mail' | 'webhook'
  /** The address of a member or a webhook; null for one that is gone. */
  readonly recipient: string | null
  readonly createdAt: Date
  readonly sentAt: Date | null
  readonly attempts: number
  readonly error: string | null
}

/** Notices of a question, oldest first. */
export function listDeliveries(sql: Queryable, tenantId: string, questionId: string): Promise<StoredDelivery[]> {
  return sql<StoredDelivery[]>`
    select d.kind, d.channel, coalesce(u.email, w.url) as recipient, d.created_at, d.sent_at, d.attempts, d.error
    from deliveries d
      left join webhooks w on w.tenant_id = ${tenantId} and w.webhook_id = d.recipient and d.channel = 'webhook'
      left join users u on u.tenant_id = ${tenantId} and u.user_id = d.recipient and d.channel = 'mail'
    where d.tenant_id = ${tenantId} and d.question_id = ${questionId} and d.channel <> 'all'
    order by d.created_at, d.recipient limit 200`
}

/** Questions that wait, were asked five minutes ago, and of which no notice has arrived. */
export async function countUndelivered(sql: Queryable): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    ${across(sql, 'undelivered questions')} select count(*)::int as count from questions q
    where q.state = 'waiting' and q.expires_at >= statement_timestamp()
      and q.asked_at < statement_timestamp() - interval '5 minutes'
      and not exists (
        select from deliveries d where d.tenant_id = q.tenant_id and d.question_id = q.question_id
          and d.channel = 'mail' and d.sent_at is not null
      )`
  return row?.count ?? 0
}

/** Removes notices of more than `days` ago, some at once. */
export function deleteOldDeliveries(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(sql, 'deliveries', sql`created_at < ${daysAgo(sql, days)}`, limit)
}
