import type { NewQuestion } from '@countersign/engine'
import type { Fragment, Queryable } from '../../postgres/sql.js'

/** What is written with a question about whom to tell, in the same transaction: jobs send it. */

export interface Put {
  readonly questionId: string
  readonly card: NewQuestion['card']
  readonly remindAt: readonly string[]
  readonly now: Date
}

/** A question is put to people, for the first time or again. */
export async function insertNotices(sql: Queryable, tenantId: string, put: Put): Promise<void> {
  const { questionId } = put
  await sql`
    insert into deliveries (tenant_id, question_id, kind, channel, recipient, next_at)
    select ${tenantId}, ${questionId}, n.kind, 'all', '', n.at
    from json_to_recordset(${JSON.stringify(noticesOf(put))}::text::json) as n (kind text, at timestamptz)`
  await tellWebhooks(sql, tenantId, { questionIds: [questionId], kind: kindOfCard('asked', put.card) })
}

/** When people are told: a little later than it was asked, for who answers at once; each reminder; each further step. */
function noticesOf({ card, remindAt, now }: Put) {
  const steps = [...new Set(card.eligible.flat().map(({ from }) => from))].filter(
    (from) => Date.parse(from) > now.getTime(),
  )
  const later = (ms: number) => new Date(now.getTime() + ms).toISOString()
  return [
    { kind: kindOfCard('asked', card), at: later(ASKED_AFTER_MS) },
    { kind: kindOfCard('undelivered', card), at: later(UNDELIVERED_AFTER_MS) },
    ...remindAt.map((at, index) => ({ kind: `reminder-${index}`, at })),
    ...steps.map((at, index) => ({ kind: kindOfCard(`escalation-${index}`, card), at })),
  ]
}

const kindOfCard = (kind: string, { card_no }: NewQuestion['card']): string =>
  card_no === 1 ? kind : `${kind}-card-${card_no}`

const ASKED_AFTER_MS = 15_000
const UNDELIVERED_AFTER_MS = 5 * 60_000

export interface Told {
  readonly questionIds: readonly string[]
  /** With what makes it the only one of its kind for the question. */
  readonly kind: string
  readonly decision?: 'approve' | 'deny'
}

/** One message for each webhook of the tenant, with what the questions are at this moment. */
export async function tellWebhooks(
  sql: Queryable,
  tenantId: string,
  { questionIds, kind, decision }: Told,
): Promise<void> {
  await sql`
    insert into deliveries (tenant_id, question_id, kind, channel, recipient, next_at, said)
    select q.tenant_id, q.question_id, ${kind}, 'webhook', w.webhook_id, statement_timestamp(), json_build_object(
      'state', q.state, 'card_no', q.card_no, 'have', q.have, 'needed', q.needed, 'expires_at', q.expires_at,
      'cause', q.cause, 'decision', ${decision ?? null}::text)
    from questions q join webhooks w on w.tenant_id = ${tenantId}
    where q.tenant_id = ${tenantId} and q.question_id = any (${[...questionIds]}::text[]) and w.disabled_at is null
    on conflict do nothing`
}

/**
 * Why a question `q` is asked, as its contract says it. What learned rules say may quote the call, so it stays in the service.
 */
export const writtenReason = (sql: Queryable): Fragment => sql`(
  select string_agg(r.reason, '; ') from json_to_recordset(q.card -> 'rules') as r (rule text, reason text)
  where r.rule ~ '#([0-9]+|risk)$')`
