import type { Environment, QuestionCause, QuestionState } from '@countersign/protocol'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'
import { writtenReason } from './outbox.js'
import type { WebhookKey } from './webhooks.js'

/** A message to a webhook that is due, with what it says. */
export interface DueMessage extends WebhookKey {
  readonly questionId: string
  readonly kind: string
  readonly createdAt: Date
  /** Those before this one. */
  readonly attempts: number
  readonly said: Said
  readonly sessionId: string
  readonly agent: string | null
  readonly environment: Environment | null
  readonly toolName: string
  readonly rule: string
  /** As its contract says it. */
  readonly reason: string | null
}

/** What changes of a question, as it was when the message was written. */
export interface Said {
  readonly state: QuestionState
  readonly card_no: number
  readonly have: number
  readonly needed: number
  readonly expires_at: string
  readonly cause: QuestionCause | null
  readonly decision: 'approve' | 'deny' | null
}

/** Webhooks of one tenant in a round. */
const PER_TENANT = 2

/**
 * Webhooks for which something is due: of each tenant the one that has waited longest, then of each the next, so that slow
 * ones of one tenant do not fill a round.
 */
export function listDueWebhooks(sql: Queryable, limit: number): Promise<WebhookKey[]> {
  return sql<WebhookKey[]>`
    ${across(sql, 'due webhooks')} select due.tenant_id, due.webhook_id from (
      select d.tenant_id, d.recipient as webhook_id, min(d.next_at) as first,
        row_number() over (partition by d.tenant_id order by min(d.next_at)) as place
      from deliveries d where d.channel = 'webhook' and d.next_at <= statement_timestamp()
      group by d.tenant_id, d.recipient
    ) as due
    where due.place <= ${PER_TENANT} order by due.place, due.first limit ${limit}`
}

/** The next message to a webhook that no other instance has, begun: it is due again only after a while. */
export async function takeDueMessage(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  retrySeconds: (attempts: number) => number,
): Promise<DueMessage | null> {
  const [held] = await tx<{ questionId: string; kind: string; attempts: number }[]>`
    select d.question_id, d.kind, d.attempts from deliveries d
    where d.tenant_id = ${tenantId} and d.channel = 'webhook' and d.recipient = ${webhookId}
      and d.next_at <= statement_timestamp()
    order by d.next_at, d.created_at limit 1 for update skip locked`
  if (held === undefined) return null
  const key = { tenantId, webhookId, ...held }
  await tx`
    update deliveries d set attempts = d.attempts + 1,
      next_at = statement_timestamp() + make_interval(secs => ${retrySeconds(held.attempts)})
    where ${sameMessage(tx, key)}`
  const [row] = await tx<Omit<DueMessage, keyof typeof key>[]>`
    select d.created_at, d.said, q.session_id, q.agent, q.environment, q.tool_name, q.rule,
      ${writtenReason(tx)} as reason
    from deliveries d join questions q on q.tenant_id = ${tenantId} and q.question_id = d.question_id
    where ${sameMessage(tx, key)}`
  return row === undefined ? null : { ...key, ...row }
}

type MessageKey = WebhookKey & Pick<DueMessage, 'questionId' | 'kind'>

const sameMessage = (sql: Queryable, { tenantId, webhookId, questionId, kind }: MessageKey) => sql`
  d.tenant_id = ${tenantId} and d.question_id = ${questionId} and d.kind = ${kind} and d.channel = 'webhook'
    and d.recipient = ${webhookId}`

/** Here and below the webhook's row comes first, as where it is disabled, so that two cannot wait for each other. */
export async function noteArrival(tx: Tx, message: MessageKey, status: number): Promise<void> {
  const { tenantId, webhookId } = message
  await tx`
    update webhooks set failing_since = null
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and failing_since is not null`
  await tx`
    update deliveries d set next_at = null, sent_at = statement_timestamp(), status = ${status}, error = null
    where ${sameMessage(tx, message)}`
}

export interface Failure {
  /** Null where nothing was answered. */
  readonly status: number | null
  readonly error: string
  /** It is not tried again. */
  readonly isLast: boolean
  /** The other messages to the webhook wait at least so long: one that hangs keeps others waiting seldom. */
  readonly holdSeconds: number
}

export async function noteFailure(
  tx: Tx,
  message: MessageKey,
  { status, error, isLast, holdSeconds }: Failure,
): Promise<void> {
  const { tenantId, webhookId } = message
  await tx`
    update webhooks set failing_since = statement_timestamp()
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and failing_since is null`
  await tx`
    update deliveries d set status = ${status}, error = ${error}, next_at = case when ${isLast} then null else d.next_at end
    where ${sameMessage(tx, message)}`
  const until = tx`statement_timestamp() + make_interval(secs => ${holdSeconds})`
  await tx`
    update deliveries d set next_at = ${until}
    where d.tenant_id = ${tenantId} and d.channel = 'webhook' and d.recipient = ${webhookId} and d.next_at < ${until}`
}

/** Whether nothing has arrived for so many days. */
export async function hasFailedFor(tx: Tx, { tenantId, webhookId }: WebhookKey, days: number): Promise<boolean> {
  const rows = await tx`
    select 1 from webhooks where tenant_id = ${tenantId} and webhook_id = ${webhookId}
      and failing_since < statement_timestamp() - make_interval(days => ${days})`
  return rows.length === 1
}

export interface StoredMessage {
  readonly questionId: string
  readonly kind: string
  readonly createdAt: Date
  readonly sentAt: Date | null
  readonly nextAt: Date | null
  readonly attempts: number
  readonly status: number | null
  readonly error: string | null
}

/** Newest first. */
export function listMessages(
  sql: Queryable,
  { tenantId, webhookId }: WebhookKey,
  limit: number,
): Promise<StoredMessage[]> {
  return sql<StoredMessage[]>`
    select d.question_id, d.kind, d.created_at, d.sent_at, d.next_at, d.attempts, d.status, d.error from deliveries d
    where d.tenant_id = ${tenantId} and d.channel = 'webhook' and d.recipient = ${webhookId}
    order by d.created_at desc, d.question_id, d.kind limit ${limit}`
}
