import type { Environment, QuestionState } from '@countersign/protocol'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'
import { daysAgo } from '../days-ago.js'
import { deleteSome } from '../delete-some.js'
import { mayAnswer } from './question-changes.js'

/** A notice that is due, with what its text says. */
export interface DueNotice extends NoticeKey {
  readonly attempts: number
  readonly toolName: string
  readonly agent: string | null
  readonly environment: Environment | null
  readonly rule: string
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

/** The one that is due longest and that no other instance has, begun: it is due again only after a while. */
export async function takeDueNotice(tx: Tx, retrySeconds: (attempts: number) => number): Promise<DueNotice | null> {
  const isDue = tx`d.next_at <= statement_timestamp()`
  const due = await tx<NoticeKey[]>`
    ${across(tx, 'due notices')} select d.tenant_id, d.question_id, d.kind, d.channel, d.recipient
    from deliveries d where ${isDue} order by d.next_at limit ${MOST_DUE}`
  for (const key of due) {
    const held = await tx`select 1 from deliveries d where ${sameNotice(tx, key)} and ${isDue} for update skip locked`
    const notice = held.length === 0 ? null : await loadNotice(tx, key)
    if (notice === null) continue
    await tx`
      update deliveries d set attempts = d.attempts + 1,
        next_at = statement_timestamp() + make_interval(secs => ${retrySeconds(notice.attempts)})
      where ${sameNotice(tx, key)}`
    return notice
  }
  return null
}

async function loadNotice(tx: Tx, key: NoticeKey): Promise<DueNotice | null> {
  const { tenantId } = key
  const [row] = await tx<DueNotice[]>`
    select d.tenant_id, d.question_id, d.kind, d.channel, d.recipient, d.attempts, q.tool_name, q.agent, q.environment,
      q.rule, q.reason, case when q.expires_at < statement_timestamp() then 'expired' else q.state end as state,
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

/** One row for each member who can answer now. */
export async function fanOut(tx: Tx, notice: DueNotice): Promise<void> {
  const { tenantId, questionId, kind } = notice
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
  await endNotice(tx, notice, null)
}

/** Sent, or not sent again: then `error` says why. */
export async function endNotice(sql: Queryable, notice: NoticeKey, error: string | null): Promise<void> {
  await (error === null
    ? sql`
      update deliveries d set next_at = null, error = null, sent_at = statement_timestamp() where ${sameNotice(sql, notice)}`
    : sql`update deliveries d set next_at = null, error = ${error} where ${sameNotice(sql, notice)}`)
}

export async function noteFailure(sql: Queryable, notice: NoticeKey, error: string): Promise<void> {
  await sql`update deliveries d set error = ${error} where ${sameNotice(sql, notice)}`
}

export interface StoredDelivery {
  readonly kind: string
  readonly channel: 'mail'
  readonly recipient: string | null
  readonly sentAt: Date | null
  readonly attempts: number
  readonly error: string | null
}

/** Notices of a question, oldest first. */
export function listDeliveries(sql: Queryable, tenantId: string, questionId: string): Promise<StoredDelivery[]> {
  return sql<StoredDelivery[]>`
    select d.kind, d.channel, u.email as recipient, d.sent_at, d.attempts, d.error
    from deliveries d
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
          and d.channel <> 'all' and d.sent_at is not null
      )`
  return row?.count ?? 0
}

/** Removes notices of more than `days` ago, some at once. */
export function deleteOldDeliveries(sql: Queryable, days: number, limit: number): Promise<number> {
  return deleteSome(sql, 'deliveries', sql`created_at < ${daysAgo(sql, days)}`, limit)
}
