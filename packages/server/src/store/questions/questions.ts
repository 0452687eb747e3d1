import type {
  Eligible,
  Environment,
  JsonObject,
  PrincipalProof,
  QuestionCause,
  QuestionState,
  Role,
} from '@countersign/protocol'
import type { PageEnd } from '../../base/time-cursor.js'
import type { Queryable } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'
import { microseconds, pageEnd } from '../page-time.js'
import { mayAnswer } from './question-changes.js'

export interface StoredQuestion {
  readonly questionId: string
  readonly sessionId: string
  readonly proposalId: string
  readonly callId: string
  readonly toolName: string
  readonly agent: string | null
  readonly environment: Environment | null
  readonly rule: string
  readonly reason: string | null
  readonly argumentHash: string
  readonly editedHash: string | null
  readonly cardNo: number
  readonly cardHash: string
  readonly definitionHash: string | null
  readonly approvedHash: string | null
  readonly requester: string | null
  readonly requesterName: string | null
  readonly principalProof: PrincipalProof | null
  readonly have: number
  readonly needed: number
  readonly state: QuestionState
  readonly cause: QuestionCause | null
  readonly askedAt: Date
  readonly expiresAt: Date
  readonly usableUntil: Date | null
  readonly decidedAt: Date | null
  readonly pendingCallId: string | null
  readonly self: 'confirm' | 'never'
  readonly eligible: Eligible
  readonly delivered: boolean
  /** The reader may answer it now. */
  readonly mine: boolean
  /** The reader may still say no, also after a yes. */
  readonly mayDeny: boolean
  readonly pageAt: string
}

/** Whether the reader `u` can still answer: it waits, and they have not said yes to this card. */
const isMine = (sql: Queryable, tenantId: string) => sql`coalesce(
  q.state = 'waiting' and q.expires_at >= statement_timestamp() and u.user_id is not null
  and ${mayAnswer(sql, tenantId)} and not exists (
    select from answers a
    where a.tenant_id = ${tenantId} and a.question_id = q.question_id and a.card_no = q.card_no and a.user_id = u.user_id
      and a.decision = 'approve'
  ), false)`

/** Some mail about it was sent, or none is needed any more. Who reads a webhook is not known. */
const isDelivered = (sql: Queryable, tenantId: string) => sql`(q.state <> 'waiting' or exists (
    select from deliveries d
    where d.tenant_id = ${tenantId} and d.question_id = q.question_id and d.channel = 'mail' and d.sent_at is not null
  ))`

/** Nobody expires a question at once: what has passed its time says so when it is read. */
const columns = (sql: Queryable, tenantId: string) => sql`
  q.question_id, q.session_id, q.proposal_id, q.call_id, q.tool_name, q.agent, q.environment, q.rule, q.reason,
  q.argument_hash, q.edited_hash, q.card_no, q.card_hash, q.definition_hash, q.approved_hash, q.requester,
  q.principal_proof, q.have, q.needed, q.asked_at, q.expires_at, q.usable_until, q.decided_at, q.pending_call_id, q.self,
  q.eligible, ${isDelivered(sql, tenantId)} as delivered,
  case when ${hasLapsed(sql)} then 'expired' else q.state end as state,
  case when ${hasLapsed(sql)} then 'time' else q.cause end as cause,
  (select coalesce(p.name, p.email) from users p
   where p.tenant_id = ${tenantId} and p.user_id = q.requester and p.removed_at is null) as requester_name,
  ${isMine(sql, tenantId)} as mine, coalesce(q.state in ('waiting', 'approved') and not ${hasLapsed(sql)}
    and u.user_id is not null and ${mayAnswer(sql, tenantId)}, false) as may_deny, ${microseconds(sql, sql`q.asked_at`)} as page_at`

const hasLapsed = (sql: Queryable) =>
  sql`(q.state in ('waiting', 'approved') and coalesce(q.usable_until, q.expires_at) < statement_timestamp())`

const reader = (sql: Queryable, tenantId: string, userId: string | null) => sql`
  left join users u on u.tenant_id = ${tenantId} and u.user_id = ${userId}`

export interface QuestionFilter {
  readonly tenantId: string
  readonly userId: string
  readonly state: QuestionState | null
  readonly mine: boolean
  readonly agent: string | null
  readonly rule: string | null
  readonly sessionId: string | null
  readonly below: PageEnd | null
  readonly limit: number
}

/** Newest first. */
export function listStoredQuestions(sql: Queryable, filter: QuestionFilter): Promise<StoredQuestion[]> {
  const { tenantId, userId, state, mine, agent, rule, sessionId, below, limit } = filter
  return sql<StoredQuestion[]>`
    select ${columns(sql, tenantId)} from questions q ${reader(sql, tenantId, userId)}
    where q.tenant_id = ${tenantId}
      ${state === null ? sql`` : sql`and case when ${hasLapsed(sql)} then 'expired' else q.state end = ${state}`}
      ${state === 'waiting' || mine ? sql`and q.state = 'waiting'` : sql``}
      ${mine ? sql`and ${isMine(sql, tenantId)}` : sql``}
      ${agent === null ? sql`` : sql`and q.agent = ${agent}`}
      ${rule === null ? sql`` : sql`and q.rule = ${rule}`}
      ${sessionId === null ? sql`` : sql`and q.session_id = ${sessionId}`}
      ${below === null ? sql`` : sql`and (q.asked_at, q.question_id) < ${pageEnd(sql, below)}`}
    order by q.asked_at desc, q.question_id desc limit ${limit}`
}

/** How many questions wait, and how many of them the reader can answer. */
export async function countQuestions(
  sql: Queryable,
  { tenantId, userId }: { readonly tenantId: string; readonly userId: string },
): Promise<{ waiting: number; mine: number }> {
  const [row] = await sql<{ waiting: number; mine: number }[]>`
    select count(*)::int as waiting, (count(*) filter (where ${isMine(sql, tenantId)}))::int as mine
    from questions q ${reader(sql, tenantId, userId)}
    where q.tenant_id = ${tenantId} and q.state = 'waiting' and q.expires_at >= statement_timestamp()`
  return row ?? { waiting: 0, mine: 0 }
}

export async function findQuestion(
  sql: Queryable,
  tenantId: string,
  questionId: string,
  userId: string | null,
): Promise<StoredQuestion | null> {
  const [row] = await sql<StoredQuestion[]>`
    select ${columns(sql, tenantId)} from questions q ${reader(sql, tenantId, userId)}
    where q.tenant_id = ${tenantId} and q.question_id = ${questionId}`
  return row ?? null
}

/** Those of a session, in the order in which they were asked. */
export function listQuestionsOfSession(sql: Queryable, tenantId: string, sessionId: string): Promise<StoredQuestion[]> {
  return sql<StoredQuestion[]>`
    select ${columns(sql, tenantId)} from questions q ${reader(sql, tenantId, null)}
    where q.tenant_id = ${tenantId} and q.session_id = ${sessionId} order by q.asked_at, q.question_id`
}

export interface StoredAnswer {
  readonly questionId: string
  readonly seq: number
  readonly cardNo: number
  readonly userId: string
  readonly memberName: string | null
  readonly decision: 'approve' | 'deny'
  readonly relation: 'self' | 'other' | 'unknown'
  readonly channel: 'dashboard'
  readonly note: string | null
  readonly edited: JsonObject | null
  readonly at: Date
}

/** To these questions, oldest first. */
export function listAnswers(sql: Queryable, tenantId: string, questionIds: readonly string[]): Promise<StoredAnswer[]> {
  return sql<StoredAnswer[]>`
    select question_id, seq::int, card_no, user_id, member_name, decision, relation, channel, note, edited, at from answers
    where tenant_id = ${tenantId} and question_id = any (${[...questionIds]}::text[]) order by at, seq`
}

export interface Answerer {
  readonly userId: string
  readonly role: Role
  readonly groups: readonly string[]
}

/** Members who may decide something at all. */
export function listAnswerers(sql: Queryable, tenantId: string): Promise<Answerer[]> {
  return sql<Answerer[]>`
    select u.user_id, u.role, array(
      select g.name from group_members g where g.tenant_id = ${tenantId} and g.user_id = u.user_id
    ) as groups
    from users u
    where u.tenant_id = ${tenantId} and u.disabled_at is null and u.role in ('approver', 'owner') limit 10000`
}

/** One member, and the time. Null: the tenant has no such member. */
export async function loadAnswerer(
  sql: Queryable,
  tenantId: string,
  userId: string,
): Promise<{ readonly now: Date; readonly member: Answerer | null }> {
  const [row] = await sql<(Answerer & { now: Date })[]>`
    select u.user_id, u.role, statement_timestamp() as now, array(
      select g.name from group_members g where g.tenant_id = ${tenantId} and g.user_id = u.user_id
    ) as groups
    from users u where u.tenant_id = ${tenantId} and u.user_id = ${userId}`
  return row === undefined ? { now: new Date(), member: null } : { now: row.now, member: row }
}

export interface WhatToAsk {
  readonly tenantId: string
  readonly agent: string | null
  readonly environment: Environment | null
  readonly tools: readonly string[]
  /** Whom the session provably acts for. */
  readonly proven: { readonly issuer: string; readonly subject: string } | null
}

export interface Surroundings {
  /** How many questions of the tenant wait. */
  readonly open: number
  readonly requester: string | null
  /** The hash of the plan in force for agent and environment. */
  readonly approvedHash: string | null
  /** By tool, where one definition of it is pinned. */
  readonly definitions: Readonly<Record<string, string>>
}

export async function loadSurroundings(sql: Queryable, what: WhatToAsk): Promise<Surroundings> {
  const { tenantId, agent, environment, tools, proven } = what
  const [row] = await sql<Surroundings[]>`
    select
      (select count(*)::int from questions q where q.tenant_id = ${tenantId} and q.state = 'waiting'
        and q.expires_at >= statement_timestamp()) as open,
      (select i.user_id from identities i where i.tenant_id = ${tenantId} and i.issuer = ${proven?.issuer ?? null}
        and i.subject = ${proven?.subject ?? null}) as requester,
      (select a.compiled_hash from approved_plans a where a.tenant_id = ${tenantId} and a.agent = ${agent}
        and a.environment = ${environment}) as approved_hash,
      (select coalesce(json_object_agg(tool_name, hash), '{}'::json) from (
        select p.tool_name, min(p.hash) as hash from tool_pins p
        where p.tenant_id = ${tenantId} and p.agent = ${agent} and p.environment = ${environment}
          and p.tool_name = any (${[...tools]}::text[])
        group by p.tool_name having count(distinct p.hash) = 1
      ) as pinned) as definitions`
  return row ?? { open: 0, requester: null, approvedHash: null, definitions: {} }
}

export interface LapsedQuestion {
  readonly tenantId: string
  readonly sessionId: string
  readonly questionId: string
}

/**
 * Questions whose time has passed, the oldest first; in turn between the tenants, so that none keeps the others waiting.
 */
export async function listLapsedQuestions(sql: Queryable, limit: number): Promise<LapsedQuestion[]> {
  const isPast = sql`q.state in ('waiting', 'approved') and coalesce(q.usable_until, q.expires_at) < statement_timestamp()`
  const some = await sql`${across(sql, 'lapsed questions')} select 1 from questions q where ${isPast} limit 1`
  if (some.length === 0) return []
  const tenants = await sql<{ tenantId: string }[]>`
    ${across(sql, 'lapsed questions')} select q.tenant_id, min(coalesce(q.usable_until, q.expires_at)) as first
    from questions q where ${isPast} group by q.tenant_id order by first limit ${limit}`
  const lapsed: (LapsedQuestion & { readonly turn: number })[] = []
  for (const { tenantId } of tenants) {
    const questions = await sql<LapsedQuestion[]>`
      select tenant_id, session_id, question_id from questions q where q.tenant_id = ${tenantId} and ${isPast}
      order by coalesce(q.usable_until, q.expires_at) limit ${limit}`
    lapsed.push(...questions.map((question, turn) => ({ ...question, turn })))
  }
  return lapsed.sort((a, b) => a.turn - b.turn).slice(0, limit)
}

/** Takes away what questions of a session say and were answered. */
export async function blankQuestions(sql: Queryable, tenantId: string, sessionId: string): Promise<void> {
  await sql`
    update questions set card = null, flow = null, reason = null where tenant_id = ${tenantId} and session_id = ${sessionId}`
  await sql`
    update answers set note = null, edited = null, member_name = null
    where tenant_id = ${tenantId} and session_id = ${sessionId}`
}
