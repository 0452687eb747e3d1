import type { NewQuestion, SessionState, StateQuestion } from '@countersign/engine'
import { isLive, type LedgerBody, type QuestionCause } from '@countersign/protocol'
import type { Fragment, Queryable } from '../../postgres/sql.js'
import { insertNotices, tellWebhooks } from './outbox.js'

/** What a change of a session stores beside its ledger of questions to people. Only under the session's lock. */
export interface QuestionChange {
  readonly asked?: readonly AskedQuestion[]
  readonly answer?: NewAnswer
  /** The card that is put again. */
  readonly card?: { readonly questionId: string; readonly card: NewQuestion['card'] }
}

export interface AskedQuestion extends NewQuestion {
  readonly proposalId: string
  readonly requester: string | null
}

/** An answer, with what must still be so when it is written: the sign-in lives, and the member may answer. */
export interface NewAnswer {
  readonly questionId: string
  readonly seq: number
  readonly cardNo: number
  readonly userId: string
  readonly memberName: string
  readonly decision: 'approve' | 'deny'
  readonly relation: 'self' | 'other' | 'unknown'
  readonly channel: 'dashboard'
  readonly signInId: string
  readonly note: string | null
  readonly edited: string | null
  readonly at: string
}

/** The member who answers may not: somebody else must. Nothing of the change is written. */
export class NotEligible extends Error {
  override name = 'NotEligible'
}

/** The part of a session's change that is about questions. */
export interface OfSession {
  readonly session: {
    readonly fixed: { readonly tenantId: string; readonly sessionId: string; readonly principalProof: string | null }
    readonly head: { readonly state: SessionState }
    readonly now: Date
  }
  readonly head: { readonly state: SessionState }
  readonly events: readonly { readonly type: string; readonly body: unknown }[]
  readonly questions?: QuestionChange | undefined
}

/** True of a change that writes more than its session's row and ledger, so that it needs the lock. */
export const changesQuestions = ({ session, head, questions }: OfSession): boolean =>
  questions !== undefined || session.head.state.questions !== head.state.questions

/** Further statements of the transaction in which the change is written. */
export async function writeQuestions(sql: Queryable, change: OfSession): Promise<void> {
  const { questions } = change
  for (const question of questions?.asked ?? []) await insertQuestion(sql, change, question)
  if (questions?.answer !== undefined && !(await insertAnswer(sql, change, questions.answer))) throw new NotEligible()
  await followState(sql, change, questions?.card)
  const { fixed, now } = change.session
  if (questions?.card !== undefined) await insertNotices(sql, fixed.tenantId, { ...questions.card, remindAt: [], now })
  if (questions?.answer !== undefined) {
    const { questionId, seq, decision } = questions.answer
    await tellWebhooks(sql, fixed.tenantId, { questionIds: [questionId], kind: `answered-${seq}`, decision })
  }
  const ended = changedOf(change.session.head.state, change.head.state).filter(
    ({ state }) => state === 'expired' || state === 'withdrawn',
  )
  if (ended.length > 0)
    await tellWebhooks(sql, fixed.tenantId, { questionIds: ended.map(({ id }) => id), kind: 'ended' })
}

async function insertQuestion(
  sql: Queryable,
  { session: { fixed, now } }: OfSession,
  { id, card, cardHash, argumentHash, callId, remindAt, flow, proposalId, requester }: AskedQuestion,
): Promise<void> {
  await sql`
    insert into questions (
      tenant_id, question_id, session_id, proposal_id, call_id, tool_name, agent, environment, rule, reason, argument_hash,
      card_no, card_hash, card_at, definition_hash, approved_hash, card, flow, requester, principal_proof, have, needed, eligible, self, state, asked_at, expires_at
    ) values (
      ${fixed.tenantId}, ${id}, ${fixed.sessionId}, ${proposalId}, ${callId}, ${card.tool_name}, ${card.agent},
      ${card.environment}, ${card.rules[0]?.rule ?? ''}, ${card.rules.map(({ reason }) => reason).join('; ')},
      ${argumentHash}, ${card.card_no}, ${cardHash}, ${now}, ${card.definition_hash}, ${card.approved_hash}, ${JSON.stringify(card)}::text::json,
      ${flow === null ? null : JSON.stringify(flow)}::text::json, ${requester}, ${fixed.principalProof}, 0,
      ${card.needed}, ${JSON.stringify(card.eligible)}::text::json, ${card.self}, 'waiting', ${now}, ${card.expires_at}::text::timestamptz
    )`
  await insertNotices(sql, fixed.tenantId, { questionId: id, card, remindAt, now })
}

/**
 * Of a member `u` and a question `q`: has one role or group of each of its rules, and had it before the card; and is not
 * whom the session acts for, where that matters.
 */
export const mayAnswer = (sql: Queryable, tenantId: string): Fragment => sql`(
  u.role in ('approver', 'owner') and u.role_since <= q.card_at and u.disabled_at is null
  and (q.self = 'confirm' or q.requester is distinct from u.user_id)
  and not exists (
    select from json_array_elements(q.eligible) as each_rule (one_of)
    where not exists (
      select from json_to_recordset(each_rule.one_of) as one (role text, "from" timestamptz)
      where one."from" <= statement_timestamp() and case one.role
        when 'owner' then u.role = 'owner'
        when 'approver' then true
        else exists (
          select from group_members g
          where g.tenant_id = ${tenantId} and g.user_id = u.user_id and g.name = one.role and g.since <= q.card_at
        ) end
    )
  )
)`

/** False where the sign-in has ended, or the member may not answer. Ending a sign-in waits for what is written here. */
async function insertAnswer(sql: Queryable, { session: { fixed } }: OfSession, answer: NewAnswer): Promise<boolean> {
  const { questionId, seq, cardNo, userId, memberName, decision, relation, channel, signInId, note, edited, at } =
    answer
  const rows = await sql`
    insert into answers (
      tenant_id, question_id, seq, session_id, card_no, user_id, member_name, decision, relation, channel, sign_in_id, note,
      edited, at
    )
    select q.tenant_id, q.question_id, ${seq}, q.session_id, ${cardNo}, u.user_id, ${memberName}, ${decision}, ${relation},
      ${channel}, r.refresh_id, ${note}, ${edited}::text::json, ${at}::text::timestamptz
    from refresh_tokens r
      join users u on u.tenant_id = ${fixed.tenantId} and u.user_id = r.user_id
      join questions q on q.tenant_id = ${fixed.tenantId}
    where r.tenant_id = ${fixed.tenantId} and r.refresh_id = ${signInId} and r.user_id = ${userId}
      and r.revoked_at is null and r.expires_at > statement_timestamp()
      and q.question_id = ${questionId} and q.session_id = ${fixed.sessionId} and q.card_no = ${cardNo}
      and ${mayAnswer(sql, fixed.tenantId)}
    for share of r, u
    returning 1`
  return rows.length === 1
}

interface Followed {
  readonly question_id: string
  readonly state: string
  readonly have: number
  readonly needed: number
  readonly card_no: number
  readonly card_hash: string
  readonly expires_at: string | null
  readonly usable_until: string | null
  readonly edited_hash: string | null
  readonly cause: QuestionCause | null
  readonly pending_call_id: string | null
}

/** What became of questions by the events of the change: rows say what the session's state says. */
async function followState(sql: Queryable, change: OfSession, card: QuestionChange['card']): Promise<void> {
  const { session, head } = change
  const changed = changedOf(session.head.state, head.state)
  if (changed.length === 0) return
  const rows = changed.map(
    (question): Followed => ({
      question_id: question.id,
      state: question.state,
      have: question.yes.length,
      needed: question.needed,
      card_no: question.cardNo,
      card_hash: question.cardHash,
      expires_at: question.state === 'waiting' ? question.until : null,
      usable_until: question.state === 'approved' ? question.until : null,
      edited_hash: question.editedHash ?? null,
      cause: causeOf(change, question),
      pending_call_id: callOf(change, question.id),
    }),
  )
  await sql`
    update questions q set state = c.state, have = c.have, needed = c.needed, card_no = c.card_no, card_hash = c.card_hash,
      expires_at = coalesce(c.expires_at, q.expires_at), usable_until = coalesce(c.usable_until, q.usable_until),
      edited_hash = c.edited_hash, cause = c.cause, pending_call_id = c.pending_call_id,
      decided_at = case when c.state = 'waiting' then null else coalesce(q.decided_at, ${session.now}) end,
      card_at = case when c.card_no > q.card_no then ${session.now} else q.card_at end
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as c (
      question_id text, state text, have int, needed int, card_no int, card_hash text, expires_at timestamptz,
      usable_until timestamptz, edited_hash text, cause text, pending_call_id text
    )
    where q.tenant_id = ${session.fixed.tenantId} and q.question_id = c.question_id`
  if (card === undefined) return
  await sql`
    update questions set card = ${JSON.stringify(card.card)}::text::json,
      approved_hash = ${card.card.approved_hash}, usable_until = null
    where tenant_id = ${session.fixed.tenantId} and question_id = ${card.questionId}`
}

/** Questions that are not as they were, or as they are when they are new: a kill in the same write withdraws those, too. */
function changedOf(before: SessionState, after: SessionState): StateQuestion[] {
  if (before.questions === after.questions) return []
  const known = new Map((before.questions ?? []).map((question) => [question.id, question]))
  return (after.questions ?? []).filter((question) =>
    known.has(question.id) ? known.get(question.id) !== question : question.state !== 'waiting',
  )
}

function causeOf({ events }: OfSession, { id, state }: StateQuestion): QuestionCause | null {
  if (isLive(state) || state === 'used') return null
  if (state === 'denied') return 'denied'
  if (state === 'expired') return 'time'
  for (const { type, body } of events) {
    if (type === 'killed') return 'killed'
    if (type === 'bypass') return 'bypass'
    const ended = body as unknown as LedgerBody<'question_ended'>
    if (type === 'question_ended' && ended.question_id === id) return ended.cause
  }
  return null
}

function callOf({ events }: OfSession, id: string): string | null {
  for (const { type, body } of events) {
    if (type !== 'proposal') continue
    const { calls } = body as unknown as LedgerBody<'proposal'>
    const call = calls.find(({ question }) => question?.step === 'used' && question.question_id === id)
    if (call !== undefined) return call.pending_call_id
  }
  return null
}
