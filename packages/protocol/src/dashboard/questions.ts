import { z } from 'zod'
import { agentSchema, environmentSchema, hashSchema, idSchema, timeSchema } from '../base/ids.js'
import { jsonObjectSchema } from '../base/json.js'
import { LIMITS } from '../base/limits.js'
import { pageOf, pageQuery } from '../http/paging.js'
import { errorCodeSchema } from '../http/problem.js'
import type { Route } from '../http/route.js'
import {
  ANSWER_CHANNELS,
  answerDecisionSchema,
  answerRelationSchema,
  questionCardSchema,
  questionCauseSchema,
  questionStateSchema,
} from '../session/question.js'
import { principalProofSchema } from '../session/session.js'
import { remainingSchema } from '../session/turn.js'
import { callRowSchema } from './dashboard-sessions.js'

export const questionsQuery = pageQuery.extend({
  state: questionStateSchema.optional(),
  /** Only those that the reader can answer now. */
  mine: z.literal('1').optional(),
  agent: agentSchema.optional(),
  /** As in a card: `tool#0`. */
  rule: z.string().max(400).optional(),
  session_id: idSchema.optional(),
})

export const questionRowSchema = z.strictObject({
  question_id: z.string(),
  session_id: z.string(),
  agent: z.string().nullable(),
  environment: environmentSchema.nullable(),
  tool_name: z.string(),
  /** The first rule that asks, and the sentences of all of them. */
  rule: z.string(),
  reason: z.string(),
  /** Whom the session acts for, where that is a member: their name. */
  requester: z.string().nullable(),
  principal_proof: principalProofSchema.nullable(),
  state: questionStateSchema,
  cause: questionCauseSchema.nullable(),
  card_no: z.int(),
  have: z.int(),
  needed: z.int(),
  /** The reader can answer it now. */
  mine: z.boolean(),
  asked_at: timeSchema,
  expires_at: timeSchema,
  usable_until: timeSchema.nullable(),
  decided_at: timeSchema.nullable(),
  /** Some notice of it was sent, or is not needed. */
  delivered: z.boolean(),
})
export type QuestionRow = z.infer<typeof questionRowSchema>

export const questionAnswerSchema = z.strictObject({
  card_no: z.int(),
  /** Null once name and address are erased. */
  by: z.string().nullable(),
  decision: answerDecisionSchema,
  relation: answerRelationSchema,
  channel: z.enum(ANSWER_CHANNELS),
  note: z.string().nullable(),
  /** The arguments as this person changed them. */
  edited: jsonObjectSchema.nullable(),
  at: timeSchema,
})
export const questionDeliverySchema = z.strictObject({
  kind: z.enum(['asked', 'reminder', 'escalation', 'undelivered', 'answered', 'ended']),
  channel: z.enum(['mail', 'webhook']),
  /** An address; of a webhook only its host. */
  to: z.string().nullable(),
  at: timeSchema,
  sent_at: timeSchema.nullable(),
  attempts: z.int(),
  error: z.string().nullable(),
})

export const questionDetailSchema = z.strictObject({
  question: questionRowSchema,
  /** Null once the session's content is erased; then nothing can be answered. */
  card: questionCardSchema.nullable(),
  /** To be named by an answer. */
  card_hash: hashSchema,
  /** The stored card does not fit its hash in the ledger: it was changed, and is not shown. */
  changed: z.literal(true).optional(),
  answers: z.array(questionAnswerSchema),
  deliveries: z.array(questionDeliverySchema),
  may: z.strictObject({
    answer: z.boolean(),
    /** The reader can say no, also after a yes, until the call has run. */
    deny: z.boolean(),
    /** The reader is whom the session acts for: a yes confirms their own request. */
    confirms: z.boolean(),
    ask_again: z.boolean(),
    /** Why the reader cannot answer; null where they can. */
    why_not: z.string().nullable(),
  }),
  /** The arguments of the last allowed call of the tool in the session. */
  last_allowed: z.strictObject({ at: timeSchema, arguments: jsonObjectSchema }).nullable(),
  /** The calls of the session before it, newest first, at most five. */
  before: z.array(callRowSchema),
  /** What is left of the session's limits. */
  remaining: remainingSchema,
})
export type QuestionDetail = z.infer<typeof questionDetailSchema>

export const answerBody = z.strictObject({
  card_hash: hashSchema,
  decision: answerDecisionSchema,
  note: z.string().trim().min(1).max(LIMITS.noteLength).optional(),
  /** The call as the member changed it, with a yes: only what `edit` of the card names, and only as it says. */
  arguments: jsonObjectSchema.optional(),
})
export type AnswerBody = z.infer<typeof answerBody>

export const answersBody = z.strictObject({
  answers: z
    .array(
      z.strictObject({
        question_id: idSchema,
        card_hash: hashSchema,
        decision: answerDecisionSchema,
        note: z.string().trim().min(1).max(LIMITS.noteLength).optional(),
      }),
    )
    .min(1)
    .max(LIMITS.answersPerRequest),
})
export const answersReply = z.strictObject({
  results: z.array(
    z.strictObject({
      question_id: z.string(),
      state: questionStateSchema.nullable(),
      /** Why this answer was not taken. */
      problem: z
        .strictObject({
          code: errorCodeSchema,
          title: z.string(),
          detail: z.string().nullable(),
        })
        .nullable(),
    }),
  ),
})

export const questionStatsQuery = z.strictObject({ days: z.coerce.number().int().min(1).max(90).default(30) })
const counted = {
  asked: z.int(),
  approved: z.int(),
  denied: z.int(),
  expired: z.int(),
  /** Of those that were decided; null without one. */
  approved_share: z.number().nullable(),
  median_seconds: z.number().nullable(),
}
export const questionStatsReply = z.strictObject({
  since: timeSchema,
  waiting: z.int(),
  undelivered: z.int(),
  rules: z.array(
    z.strictObject({
      rule: z.string(),
      tool_name: z.string(),
      agent: z.string().nullable(),
      reason: z.string(),
      sessions: z.int(),
      ...counted,
      withdrawn: z.int(),
      /** At least 50 answers, more than 97 % of them yes: the rule may ask too much. */
      tires: z.boolean(),
    }),
  ),
  people: z.array(
    z.strictObject({
      user_id: z.string(),
      name: z.string().nullable(),
      answers: z.int(),
      approved_share: z.number().nullable(),
      median_seconds: z.number().nullable(),
    }),
  ),
})
export type QuestionStats = z.infer<typeof questionStatsReply>

const questionPath = z.strictObject({ question_id: idSchema })
const view = { method: 'GET', auth: 'cookie', role: 'viewer', throttle: 'dashboard' } as const
const answer = { method: 'POST', auth: 'cookie', role: 'approver', throttle: 'dashboard' } as const

/** Questions to people, and their answers. Only here can one be answered: no API key can. */
export const questionRoutes = {
  listQuestions: {
    ...view,
    path: '/api/dashboard/questions',
    summary: 'Questions to people, newest first; and how many wait',
    query: questionsQuery,
    reply: pageOf(questionRowSchema).extend({ counts: z.strictObject({ waiting: z.int(), mine: z.int() }) }),
  },
  loadQuestion: {
    ...view,
    path: '/api/dashboard/questions/:question_id',
    summary: 'One question: its card, answers and notices, and what the reader may do',
    params: questionPath,
    reply: questionDetailSchema,
  },
  answerQuestion: {
    ...answer,
    path: '/api/dashboard/questions/:question_id/answer',
    summary: 'Approve or deny the call that a question is about',
    params: questionPath,
    body: answerBody,
    reply: questionDetailSchema,
  },
  answerQuestions: {
    ...answer,
    path: '/api/dashboard/questions/answers',
    summary: 'Answer several questions, each by itself',
    body: answersBody,
    reply: answersReply,
  },
  askAgain: {
    ...answer,
    role: 'owner',
    path: '/api/dashboard/questions/:question_id/ask-again',
    summary: 'Put a question that waits once more, to those who are members now; answers to it are void',
    params: questionPath,
    reply: questionDetailSchema,
  },
  questionStats: {
    ...view,
    path: '/api/dashboard/question-stats',
    summary: 'How often each rule asks and each person answers, and what they say',
    query: questionStatsQuery,
    reply: questionStatsReply,
  },
} as const satisfies Record<string, Route>
