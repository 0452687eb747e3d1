import { z } from 'zod'
import { environmentSchema, hashSchema, timeSchema } from '../base/ids.js'
import { jsonObjectSchema, jsonSchema } from '../base/json.js'
import { LIMITS } from '../base/limits.js'
import { editSchema, selfSchema } from '../contract/ask.js'

/**
 * `waiting`: too few answers yet. `approved`: a proposal of the same call may use it until `usable_until`. `used`: the call
 * was allowed by it. The others are final, too: `denied` by a person, `expired` by time, `withdrawn` by an event.
 */
export const QUESTION_STATES = ['waiting', 'approved', 'used', 'denied', 'expired', 'withdrawn'] as const
export const questionStateSchema = z.enum(QUESTION_STATES)
export type QuestionState = z.infer<typeof questionStateSchema>
export const isLive = (state: QuestionState): boolean => state === 'waiting' || state === 'approved'

/** Why a question ended without its call. */
export const QUESTION_CAUSES = [
  'denied',
  'time',
  'killed',
  'bypass',
  'erased',
  'holder',
  'definition_changed',
  'plan_changed',
] as const
export const questionCauseSchema = z.enum(QUESTION_CAUSES)
export type QuestionCause = z.infer<typeof questionCauseSchema>

/** One who may answer has one of each list: a role, or a group; those of a later step only from then on. */
export const eligibleSchema = z.array(z.array(z.strictObject({ role: z.string(), from: timeSchema })))
export type Eligible = z.infer<typeof eligibleSchema>

/** An argument that an answer may change. `values`: those that the contract lists for it. */
export const cardEditSchema = editSchema.extend({ values: z.array(jsonSchema).optional() })
export type CardEdit = z.infer<typeof cardEditSchema>

/** What of the arguments to look at. */
export const lookAtSchema = z.strictObject({ label: z.string(), path: z.string() })

/** What a rule asks. `rule`, in the ledger as well, is `tool#0` for a checkpoint of a contract, or `tool#risk`, `tool#source`, `tool#unusual`. */
export const askedRuleSchema = z.strictObject({
  rule: z.string(),
  reason: z.string(),
  /** What of the arguments to look at. */
  context: z.array(lookAtSchema),
})

export type AskedRule = z.infer<typeof askedRuleSchema>

/** All that a person decides about. An answer names its hash, so that it counts for nothing else. */
export const questionCardSchema = z.strictObject({
  tenant_id: z.string(),
  question_id: z.string(),
  card_no: z.int().min(1),
  session_id: z.string(),
  agent: z.string().nullable(),
  environment: environmentSchema.nullable(),
  tool_name: z.string(),
  arguments: jsonObjectSchema,
  /** Of the definition of an MCP tool that is pinned; null: nothing is known of the tool but its name. */
  definition_hash: hashSchema.nullable(),
  /** The plan of the session. */
  plan_hash: hashSchema,
  /** The plan that was in force for agent and environment. Null: none was. */
  approved_hash: hashSchema.nullable(),
  rules: z.array(askedRuleSchema),
  needed: z.int().min(1),
  eligible: eligibleSchema,
  self: selfSchema,
  /** Nothing where a rule that asks allows none, or the program runs the arguments of its model. */
  edit: z.array(cardEditSchema),
  expires_at: timeSchema,
})
export type QuestionCard = z.infer<typeof questionCardSchema>

/** Of a call that was not allowed: the question that it waits for, or that ended without it. */
export const decisionQuestionSchema = z.strictObject({
  question_id: z.string(),
  state: questionStateSchema,
  have: z.int(),
  needed: z.int(),
  expires_at: timeSchema,
  /** A person changed the arguments: fetch the question and propose the call with these. */
  edited: z.literal(true).optional(),
})
export type DecisionQuestion = z.infer<typeof decisionQuestionSchema>
export const decisionApprovalSchema = z.strictObject({ question_id: z.string(), card_no: z.int() })

const asked = {
  question_id: z.string(),
  card_no: z.int(),
  card_hash: hashSchema,
}

/** A call that is asked about, one that waits for an answer, and one that uses its answer up. */
export const ledgerQuestionSchema = z.discriminatedUnion('step', [
  z.strictObject({
    step: z.literal('asked'),
    ...asked,
    rules: z.array(z.string()),
    /** How many of the session's triggers it takes. */
    triggers: z.int().min(1),
    needed: z.int().min(1),
    expires_at: timeSchema,
  }),
  z.strictObject({ step: z.literal('waiting'), question_id: z.string() }),
  z.strictObject({
    step: z.literal('used'),
    ...asked,
    /** Of the call that was asked about; that of the call itself differs where a person edited it. */
    asked_hash: hashSchema,
    /** What the call would still have asked. */
    rules: z.array(z.string()),
  }),
])
export type LedgerQuestion = z.infer<typeof ledgerQuestionSchema>

/** `self`: who answers is who is acted for; `unknown`: nothing proves who is acted for. */
export const answerRelationSchema = z.enum(['self', 'other', 'unknown'])
export const answerDecisionSchema = z.enum(['approve', 'deny'])
export const ANSWER_CHANNELS = ['dashboard'] as const

export const answeredFacts = z.strictObject({
  ...asked,
  decision: answerDecisionSchema,
  /** Salted hashes of the member's id and of the name shown. */
  member_hash: hashSchema,
  name_hash: hashSchema,
  relation: answerRelationSchema,
  channel: z.enum(ANSWER_CHANNELS),
  note_hash: hashSchema.optional(),
  edited_hash: hashSchema.optional(),
  state: z.enum(['waiting', 'approved', 'denied']),
  have: z.int(),
  /** Where this answer approves. */
  usable_until: timeSchema.optional(),
})
export const questionChangedFacts = z.strictObject({
  ...asked,
  cause: z.enum(['plan_changed', 'asked_again']),
  needed: z.int().min(1),
  expires_at: timeSchema,
})
export const questionEndedFacts = z.strictObject({
  question_id: z.string(),
  state: z.enum(['expired', 'withdrawn']),
  cause: questionCauseSchema,
})

/** A question as the session's program sees it. */
export const sessionQuestionSchema = z.strictObject({
  question_id: z.string(),
  proposal_id: z.string(),
  call_id: z.string(),
  tool_name: z.string(),
  state: questionStateSchema,
  cause: questionCauseSchema.nullable(),
  argument_hash: hashSchema,
  have: z.int(),
  needed: z.int(),
  asked_at: timeSchema,
  expires_at: timeSchema,
  /** Once approved. */
  usable_until: timeSchema.nullable(),
  /** The page on which people answer it. */
  url: z.string(),
  /** Somebody who can answer was reached. */
  delivered: z.boolean(),
  /** Once approved or denied: what the call is to run with, edited by a person or not. Null: not decided, or erased. */
  arguments: jsonObjectSchema.nullable(),
  /** Hash of the arguments that a person set in place of the model's. */
  edited_hash: hashSchema.nullable(),
  /** The arguments that were asked about, where a person changed them. Null: they are as asked, not decided, or erased. */
  asked_arguments: jsonObjectSchema.nullable(),
  /** What the person who decided wrote. */
  note: z.string().nullable(),
  /** The call that used it. */
  pending_call_id: z.string().nullable(),
})
export type SessionQuestion = z.infer<typeof sessionQuestionSchema>

export const sessionQuestionsQuery = z.strictObject({
  /** How many seconds to wait for a change. */
  wait: z.coerce.number().int().min(0).max(LIMITS.questionWaitSeconds).default(0),
  /** `version` of the last reply: with `wait`, the reply comes as soon as there is another. */
  after: z.string().max(128).optional(),
})
export const sessionQuestionsReply = z.strictObject({
  questions: z.array(sessionQuestionSchema),
  version: z.string(),
  /** Too many requests of the tenant wait: ask again after so many seconds. */
  retry_after: z.int().nullable(),
})
export type SessionQuestions = z.infer<typeof sessionQuestionsReply>

export const withdrawBody = z.strictObject({ fence: z.int() })
