import { z } from 'zod'
import { columnPlaceSchema, resultPlaceSchema, valueKindSchema } from '../base/flow.js'
import { hashSchema, labelSchema, toolNameSchema } from '../base/ids.js'
import { LIMITS } from '../base/limits.js'
import { checkpointAskSchema } from './ask.js'
import { CONDITIONAL, conditionSchema, invariantSchema, nameSchema, pathSchema } from './condition.js'
import { listOf } from './lists.js'

export const SIDE_EFFECTS = ['read', 'egress_read', 'write', 'destructive', 'admin', 'financial'] as const
export const sideEffectSchema = z.enum(SIDE_EFFECTS)
export type SideEffect = z.infer<typeof sideEffectSchema>

export const evidenceClassSchema = z.enum(['local_transaction', 'ack_only', 'unverifiable'])
export const allowOrBlockSchema = z.enum(['allow', 'block'])

export const EVIDENCE_LEVELS = ['reported', 'executed'] as const
export const evidenceLevelSchema = z.enum(EVIDENCE_LEVELS)
export type EvidenceLevel = z.infer<typeof evidenceLevelSchema>

export const priorToolSchema = z.strictObject({
  requires_prior_tool: toolNameSchema,
  with_output: listOf(invariantSchema).optional(),
  /** This call's argument at `path` equals the prior call's argument at `as`. */
  same: listOf(z.strictObject({ path: pathSchema, as: pathSchema })).optional(),
  /** One prior call opens one call: it is used up when this call is allowed. */
  consumes: z.boolean().optional(),
  /** A newer run of the prior tool that does not meet the terms undoes what an older one proved. */
  latest: z.boolean().optional(),
  ...CONDITIONAL,
})
export const stepCountSchema = z.strictObject({
  requires_step_count: z.strictObject({ gte: z.int().min(1) }),
  ...CONDITIONAL,
})
export const preconditionSchema = z.union([priorToolSchema, stepCountSchema])
export type Precondition = z.infer<typeof preconditionSchema>

export const bindOriginSchema = z.enum(['output', 'argument'])
export const bindSchema = z.strictObject({
  name: nameSchema,
  /** An argument: the rule is kept for each of its values. */
  key: pathSchema.optional(),
  /** The rows of the result, in each of which `key` and `path` are read. */
  each: pathSchema.optional(),
  from: bindOriginSchema.default('output'),
  path: pathSchema,
})
export const refSchema = z.strictObject({
  path: pathSchema,
  ref: nameSchema,
  key: pathSchema.optional(),
  ...CONDITIONAL,
})

/**
 * Where a value may come from: the user's words; an argument of an earlier allowed call that has source rules itself;
 * a whole cell of an identifier column (`columns`); the values listed in `known`; nowhere (`generated`, for all or only
 * the listed kinds of value); or one place in one tool's results, by its generalised path. `as: line` accepts lines and
 * list items of free text, `as: prose` any place in it.
 */
export const sourceOriginSchema = z.union([
  z.enum(['user', 'argument', 'identifier', 'known', 'generated']),
  z.strictObject({ generated: listOf(valueKindSchema).min(1) }),
  z.strictObject({ result: toolNameSchema, path: pathSchema, as: resultPlaceSchema.optional() }),
])
export type SourceOrigin = z.infer<typeof sourceOriginSchema>

/** Values as salted hashes: a plan contains no content. */
export const knownValuesSchema = z.strictObject({
  salt: z.string().min(1).max(128),
  hashes: z.array(hashSchema).max(1_024),
})
/** `note` neither blocks nor asks: a person who is asked for another reason sees it. */
export const otherwiseSchema = z.enum(['block', 'ask', 'note'])
export type Otherwise = z.infer<typeof otherwiseSchema>
export const sourceRoleSchema = z.enum(['reference', 'content', 'choice'])

export const sourceRuleSchema = z.strictObject({
  /** Generalised: `$.to[*]` is every element. */
  path: pathSchema,
  /**
   * A reference is judged whole; of content, only the addresses and identifiers inside; a choice is not judged, because the
   * schema lists its values. Absent: by the value.
   */
  role: sourceRoleSchema.optional(),
  /** Numbers here identify something, like a ticket id, and are judged like text. Absent: they are amounts. */
  numbers: z.literal(true).optional(),
  from: z.array(sourceOriginSchema).min(1).max(256),
  known: knownValuesSchema.optional(),
  /** A date or number of two digits that only free text of a result names. Absent: dates and numbers are not judged. */
  dictated: otherwiseSchema.optional(),
  /** Four words or more that stand as they are in free text of a result, and in no better place. Absent: not judged. */
  quoted: otherwiseSchema.optional(),
  /** An address or identifier that was seen nowhere before. Absent: as `otherwise`. */
  invented: otherwiseSchema.optional(),
  otherwise: otherwiseSchema.default('block'),
  ...CONDITIONAL,
})
export type SourceRule = z.infer<typeof sourceRuleSchema>

/** What a column of this tool's results contains; one that ever contained prose vouches for nothing. */
export const resultColumnSchema = z.strictObject({
  path: pathSchema,
  place: columnPlaceSchema.default('cell'),
  holds: listOf(valueKindSchema),
  /** The length of the longest text that it ever held. */
  longest: z.int().min(0).optional(),
})
export type ResultColumn = z.infer<typeof resultColumnSchema>

const weight = z.number().min(0).max(100)
const weights = z.tuple([weight, weight])
/**
 * How unusual a call of this tool is: what each sign adds where it is somewhat and where it is very unlike the sessions
 * learned from. `imperative` has a third step for texts full of orders; plans learned before it have two. `unused`: no
 * session used the tool; a call that the user's words do not name asks.
 */
export const surpriseSchema = z.strictObject({
  mandate: weights,
  odd: weights,
  imperative: z.union([weights, z.tuple([weight, weight, weight])]),
  unused: z.literal(true).optional(),
})
export type Surprise = z.infer<typeof surpriseSchema>

const share = z.number().min(0).max(1)
/**
 * What a learned plan would have done to the requests it was learned from, each judged by what was learned without it:
 * shares of them in which a call is blocked, in which source rules ask, and in which anybody is asked at each `alpha`.
 */
export const expectedRatesSchema = z.strictObject({
  blocked: share,
  by_sources: share,
  /** Rules that ask because they would wrongly block too many captured requests, and the share of each. */
  demoted: z
    .array(z.strictObject({ rule: z.string().max(400), share }))
    .max(64)
    .optional(),
  /** Captured sessions that look attacked and were not learned from: how many, and the first of them. */
  left_out: z.strictObject({ sessions: z.int().min(1), named: z.array(z.string().max(200)).max(16) }).optional(),
  asked: z.array(z.strictObject({ alpha: z.number().gt(0).lt(1), share })).max(16),
})
export type ExpectedRates = z.infer<typeof expectedRatesSchema>

/**
 * When to ask about unusual calls: in about `alpha` of the requests like those learned from, whose scores are listed.
 * `shares`: of all requests, how many score at least that; each score is one request where it is absent.
 */
export const surpriseLevelSchema = z
  .strictObject({
    alpha: z.number().gt(0).lt(1),
    scores: z.array(z.number().min(0).max(1_000)).max(1_024),
    shares: z.array(z.number().min(0).max(1)).max(1_024).optional(),
    requests: z.int().min(0).optional(),
    expected: expectedRatesSchema.optional(),
  })
  .refine(({ scores, shares }) => shares === undefined || shares.length === scores.length, {
    message: 'shares needs one number for each of scores',
    path: ['shares'],
  })
/** Of a learned plan, unless the person who drafts it says otherwise. */
export const LEARNED_ALPHA = 0.1
export type SurpriseLevel = z.infer<typeof surpriseLevelSchema>

/** A number, or one that an earlier call established. */
export const aggregateBoundSchema = z.union([z.number(), z.strictObject({ ref: nameSchema })])
export type AggregateBound = z.infer<typeof aggregateBoundSchema>
export const aggregateFunctionSchema = z.enum(['sum', 'count', 'max'])
export const aggregateSchema = z
  .strictObject({
    name: nameSchema,
    key: pathSchema.optional(),
    path: pathSchema.optional(),
    function: aggregateFunctionSchema.default('sum'),
    lte: aggregateBoundSchema.optional(),
    lt: aggregateBoundSchema.optional(),
    ...CONDITIONAL,
  })
  .refine((item) => item.lte !== undefined || item.lt !== undefined, { error: 'needs a bound: lte or lt' })
  .refine((item) => item.function === 'count' || item.path !== undefined, { error: 'sum and max need a path' })

export const envelopeDirectionSchema = z.enum(['at_most', 'at_least', 'within'])
export const envelopeSchema = z.strictObject({
  name: nameSchema,
  key: pathSchema.optional(),
  path: pathSchema,
  direction: envelopeDirectionSchema,
  tolerance_percent: z.number().min(0).max(100).default(0),
  ...CONDITIONAL,
})

/** What an approver sees of a call. */
export const checkpointContextSchema = z.strictObject({ label: z.string().min(1).max(128), path: pathSchema })
export const onTimeoutSchema = z.enum(['deny', 'allow'])
export const checkpointSchema = z.strictObject({
  when: listOf(conditionSchema).default([]),
  message: CONDITIONAL.message,
  reason: z.string().min(1).max(500),
  timeout_seconds: z.number().positive().default(LIMITS.checkpointTimeoutDefaultSeconds),
  on_timeout: onTimeoutSchema.default('deny'),
  context: listOf(checkpointContextSchema).default([]),
  /** A call that a person has refused may be asked about again. */
  ask_again: z.boolean().optional(),
  /** Asks members of the tenant, whether or not the program still runs. Absent: asks the program's callback. */
  ask: checkpointAskSchema.optional(),
})
export type Checkpoint = z.infer<typeof checkpointSchema>

const DAY = '(mon|tue|wed|thu|fri|sat|sun)'
export const hourSpanSchema = z.strictObject({
  /** Days and ranges of days: `mon-fri`, `sat,sun`, `fri-mon`. Absent: every day. */
  days: z
    .string()
    .regex(new RegExp(`^${DAY}(-${DAY})?(,${DAY}(-${DAY})?){0,6}$`), 'expected days such as mon-fri or sat,sun')
    .optional(),
  from: z.string().regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'expected a time such as "08:00", in quotes'),
  /** Not included; `24:00` is the end of the day. */
  to: z.string().regex(/^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$/, 'expected a time such as "18:00", in quotes'),
})
/** When calls are allowed, by the clock of the authority that decides. */
export const hoursSchema = z.strictObject({
  time_zone: z.string().min(1).max(64),
  allow: z.array(hourSpanSchema).min(1).max(32),
  ...CONDITIONAL,
})
export type Hours = z.infer<typeof hoursSchema>

export const policySchema = z.strictObject({ cedar: z.string().min(1) })
/** That a session says who it acts for is not enough: a token must prove it. */
export const principalRequirementSchema = z.literal('proven')
export const FINISH_REASONS = ['stop', 'tool_calls', 'length', 'content_filter'] as const
export const finishReasonSchema = z.enum(FINISH_REASONS)
export type FinishReason = z.infer<typeof finishReasonSchema>

export const assertionsSchema = z.strictObject({
  input_invariants: listOf(invariantSchema).optional(),
  output_invariants: listOf(invariantSchema).optional(),
})
export const responseFormatSchema = z.strictObject({
  finish_reason: z.union([finishReasonSchema, listOf(finishReasonSchema).min(1)]).optional(),
  content: z.enum(['empty', 'present', 'any']).optional(),
})
export const contractTransitionsSchema = z.strictObject({
  valid_in_phases: listOf(nameSchema).min(1).optional(),
  advances_to: nameSchema.optional(),
})
/** A label of a rule, by itself or with conditions. */
export const labelRuleSchema = z.union([labelSchema, z.strictObject({ label: labelSchema, ...CONDITIONAL })])
export type LabelRule = z.infer<typeof labelRuleSchema>
export const labelOf = (rule: LabelRule): string => (typeof rule === 'string' ? rule : rule.label)
export const labelRulesSchema = z.strictObject({
  deny_when: listOf(labelRuleSchema).optional(),
  adds: listOf(labelRuleSchema).optional(),
  /** New sessions of the same principal start with the labels that the call adds. */
  sticks_to: z.literal('principal').optional(),
})
export const resourceModeSchema = z.enum(['exclusive', 'shared'])
export const resourceSchema = z.strictObject({
  key: z.string().min(1).max(512),
  mode: resourceModeSchema.default('exclusive'),
})
export const executionConstraintsSchema = z.strictObject({ arguments: listOf(invariantSchema).min(1) })
export const timeoutsSchema = z.strictObject({
  total_ms: z
    .int()
    .positive()
    .max(24 * 3_600_000),
})
