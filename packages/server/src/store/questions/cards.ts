import type { CallFlow, JsonObject, QuestionCard } from '@countersign/protocol'
import type { Queryable } from '../../postgres/sql.js'

/** Null: the content was erased. */
export async function loadCard(sql: Queryable, tenantId: string, questionId: string): Promise<QuestionCard | null> {
  const [row] = await sql<{ card: QuestionCard | null }[]>`
    select card from questions where tenant_id = ${tenantId} and question_id = ${questionId}`
  return row?.card ?? null
}

/** The arguments that each question asks about, where they are stored. */
export async function listCards(
  sql: Queryable,
  tenantId: string,
  questionIds: readonly string[],
): Promise<ReadonlyMap<string, JsonObject>> {
  const rows = await sql<{ questionId: string; args: JsonObject }[]>`
    select question_id, card -> 'arguments' as args from questions
    where tenant_id = ${tenantId} and question_id = any (${[...questionIds]}::text[]) and card is not null`
  return new Map(rows.map(({ questionId, args }) => [questionId, args]))
}

/** Where the arguments of each question were seen when it was asked, where that is stored. */
export async function listFlows(
  sql: Queryable,
  tenantId: string,
  questionIds: readonly string[],
): Promise<ReadonlyMap<string, CallFlow>> {
  const rows = await sql<{ questionId: string; flow: CallFlow }[]>`
    select question_id, flow from questions
    where tenant_id = ${tenantId} and question_id = any (${[...questionIds]}::text[]) and flow is not null`
  return new Map(rows.map(({ questionId, flow }) => [questionId, flow]))
}
