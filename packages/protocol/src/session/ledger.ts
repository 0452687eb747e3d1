import { z } from 'zod'
import { decimalSchema, environmentSchema, hashSchema, ledgerHeadSchema, timeSchema } from '../base/ids.js'
import { jsonObjectSchema, jsonSchema } from '../base/json.js'
import { allowOrBlockSchema, evidenceLevelSchema, resourceModeSchema } from '../contract/contract-rules.js'
import { compiledSessionSchema } from '../contract/plan.js'
import { answeredFacts, ledgerQuestionSchema, questionChangedFacts, questionEndedFacts } from './question.js'
import {
  asksSchema,
  captureLevelSchema,
  gateSchema,
  planSourceSchema,
  principalProofSchema,
  unmatchedPolicySchema,
} from './session.js'
import { signedHeadSchema } from './signed-ledger.js'
import { approvalDecisionSchema, blockReasonSchema, outcomeSchema, PROPOSAL_OUTCOMES, usageSchema } from './turn.js'

/** A value that the plan reads from a call: its salted hash, and the value itself only of numbers and booleans. */
export const factSchema = z.strictObject({
  hash: hashSchema,
  decimal: decimalSchema.optional(),
  boolean: z.boolean().optional(),
  /** Of what is neither text nor kept itself: nothing, a list, an object, or a number that cannot be added up. */
  type: z.enum(['null', 'array', 'object', 'number']).optional(),
})
export type Fact = z.infer<typeof factSchema>

/** What a committed call opens for one later call: the precondition's key, and the hash of the values to repeat. */
export const openingSchema = z.strictObject({ key: z.string(), witness: hashSchema.nullable() })
export type Opening = z.infer<typeof openingSchema>

/** What was taken of a limit that sessions share. `id` is a salted hash of the limit and the key that it is counted for. */
export const ledgerDrawSchema = z.strictObject({ limit: z.string(), id: z.string(), amount: decimalSchema })
export type LedgerDraw = z.infer<typeof ledgerDrawSchema>

/** One judged call of a proposal. What narrows takes effect at the allow; what widens waits here for the receipt. */
export const ledgerCallSchema = z.strictObject({
  index: z.int(),
  call_id: z.string(),
  tool_name: z.string(),
  decision: allowOrBlockSchema,
  /** Set when the call was registered as pending. */
  pending_call_id: z.string().nullable(),
  argument_hash: hashSchema.nullable(),
  reasons: z.array(blockReasonSchema),
  commit_requirement: evidenceLevelSchema,
  /** A failure releases the budget: `evidence_class: local_transaction`. */
  rolls_back: z.boolean(),
  checkpoints: z.array(z.string()),
  advances_to: z.string().nullable(),
  adds_labels: z.array(z.string()),
  /** What this call adds to each aggregate. A value that is kept per key is named `name#key` here and below. */
  amounts: z.record(z.string(), decimalSchema),
  /** Bindings taken from the arguments, set on commit. */
  binds: z.record(z.string(), factSchema),
  establishes: z.record(z.string(), decimalSchema),
  /** Precondition key -> hash of the argument values that a later call must repeat. */
  witnesses: z.record(z.string(), hashSchema),
  resources: z.array(z.strictObject({ key_hash: hashSchema, mode: resourceModeSchema })),
  /** Only where the contract has keys: the path of each key -> a short salted hash of its value. */
  keys: z.record(z.string(), z.string()).optional(),
  /** Earlier calls that this one uses up. */
  consumes: z.array(openingSchema).optional(),
  /** What this call takes of limits that sessions share, until it is released or its window ends. */
  draws: z.array(ledgerDrawSchema).optional(),
  /** What the call has to do with a question to people. */
  question: ledgerQuestionSchema.optional(),
})
export type LedgerCall = z.infer<typeof ledgerCallSchema>

/** A tool that the provider ran while it answered. It narrows from now on, and opens nothing. */
export const providerCallSchema = z.strictObject({
  call_id: z.string().nullable(),
  /** The contract that covers it, or the name that it has without one. */
  tool_name: z.string(),
  /** Every contract that it counts under. */
  tool_names: z.array(z.string()),
  argument_hash: hashSchema.nullable(),
  adds_labels: z.array(z.string()),
  amounts: z.record(z.string(), decimalSchema),
  consumes: z.array(openingSchema).optional(),
  /** What earlier calls proved, and this one may not have: its result is not seen. */
  undoes: z.array(openingSchema).optional(),
})
export type ProviderCall = z.infer<typeof providerCallSchema>

export const ledgerReceiptSchema = z.strictObject({
  pending_call_id: z.string(),
  outcome: outcomeSchema,
  evidence_level: evidenceLevelSchema,
  argument_hash: hashSchema,
  result_hash: hashSchema.nullable(),
  /** The tool ran, and its result could not be written as JSON. */
  result_unhashable: z.literal(true).optional(),
  started_at: timeSchema.nullable(),
  finished_at: timeSchema.nullable(),
  at_level: z.boolean(),
  late: z.boolean(),
  approvals: z.array(
    z.strictObject({
      checkpoint_id: z.string(),
      decision: approvalDecisionSchema,
      argument_hash: hashSchema,
      /** Salted hashes of who decided and of the reason given, where there were any. Older ledgers have none. */
      decided_by_hash: hashSchema.optional(),
      reason_hash: hashSchema.optional(),
    }),
  ),
  /** Why an allowed call was stopped before it ran: by a person, a constraint, a control. */
  block_reason: blockReasonSchema.optional(),
  /** A person refused the call. Older ledgers do not say so, and their calls may be asked about again. */
  refused: z.literal(true).optional(),
  /** Its program still asks a person about the call, which may be proposed once more without another trigger. */
  unanswered: z.literal(true).optional(),
  /** Bindings and envelopes taken from the outputs; precondition keys whose with_output held. */
  binds: z.record(z.string(), factSchema),
  establishes: z.record(z.string(), decimalSchema),
  /** Envelopes that this call should have established again but gave no number for: the earlier bound ends. */
  ends: z.array(z.string()).optional(),
  /** Envelopes without a key that this call established: their strictest value counts. Older ledgers have none. */
  tightens: z.array(z.string()).optional(),
  satisfies: z.array(z.string()),
  /** Precondition keys that this call opens for one later call each. */
  opens: z.array(z.string()).optional(),
  /** Precondition keys whose newest run this call was, and did not meet. */
  undoes: z.array(z.string()).optional(),
})
export type LedgerReceipt = z.infer<typeof ledgerReceiptSchema>

/** `from`: the event is in the ledger of the offering session; `to`: in that of the accepting one. */
const handoffFacts = {
  handoff_id: z.string(),
  workflow_id: z.string(),
  role: z.string(),
  side: z.enum(['from', 'to']),
}

/** Everything that can happen to a session, one event each, without content. */
export const LEDGER_EVENTS = {
  created: z.strictObject({
    agent: z.string().nullable(),
    environment: environmentSchema.nullable(),
    holder_id: z.string(),
    compiled_hash: hashSchema,
    plan_source: planSourceSchema,
    unmatched_policy: unmatchedPolicySchema,
    capture_level: captureLevelSchema,
    labels: z.array(z.string()),
    /** Those of the labels that stuck to the principal in earlier sessions, where there are any. */
    sticky_labels: z.array(z.string()).optional(),
    has_principal: z.boolean(),
    /** Where there is a principal. In older ledgers it is missing: those were all as told. */
    principal_proof: principalProofSchema.optional(),
    initial_phase: z.string().nullable(),
    asks: asksSchema.optional(),
    fence: z.int(),
    workflow: z
      .strictObject({
        workflow_id: z.string(),
        role: z.string(),
        handoff_id: z.string().nullable(),
        tools: z.array(z.string()).nullable(),
      })
      .nullable(),
  }),
  proposal: z.strictObject({
    proposal_id: z.string(),
    prepared_request_id: z.string(),
    /** Hash of the prepared request: what it was bound to, offered and removed. */
    prepared_digest: hashSchema,
    response_hash: hashSchema,
    gate: gateSchema,
    model: z.string().nullable(),
    usage: usageSchema.nullable(),
    cost: decimalSchema,
    outcome: z.enum(PROPOSAL_OUTCOMES),
    /** Salted hash of the decisions with their explanations, where any call was blocked. Older ledgers have none. */
    decisions_hash: hashSchema.optional(),
    calls: z.array(ledgerCallSchema),
    provider_run: z.array(z.string()),
    /** Older ledgers have none. */
    provider_calls: z.array(providerCallSchema).optional(),
    /** What the response itself takes of shared limits: its cost, and what the provider ran. It is never released. */
    draws: z.array(ledgerDrawSchema).optional(),
    /** How many blocks in a row this allowed proposal ended, where any: one of its calls may still be stopped. */
    blocks_before: z.int().optional(),
  }),
  /** A preflight that was refused for a limit: the model was not called. */
  turn_blocked: z.strictObject({
    prepared_request_id: z.string(),
    reason: blockReasonSchema,
    detail: z.string().nullable(),
    model: z.string().nullable(),
  }),
  receipts: z.strictObject({ receipts: z.array(ledgerReceiptSchema), committed: z.boolean() }),
  /** One of the processes that hold the session took an allowed call, to run it: no other may. */
  claimed: z.strictObject({ pending_call_id: z.string(), claim_id: z.string() }),
  /** A member answered a question. */
  answered: answeredFacts,
  /** The question was put again as another card: answers to the one before it are void. */
  question_changed: questionChangedFacts,
  question_ended: questionEndedFacts,
  label: z.strictObject({ label: z.string() }),
  tool_filter: z.strictObject({ tools: z.array(z.string()).nullable() }),
  bypass: z.strictObject({ method: z.string().nullable(), cause: z.enum(['bypass', 'arguments_changed']) }),
  killed: z.strictObject({ by: z.enum(['client', 'dashboard', 'breaker', 'workflow']) }),
  recovered: z.strictObject({
    holder_id: z.string(),
    fence: z.int(),
    takeover: z.boolean(),
    in_doubt: z.array(z.string()),
  }),
  /** Its holder ended the session: it takes no more turns unless it is recovered. */
  ended: z.strictObject({ fence: z.int() }),
  handoff_offered: z.strictObject({ ...handoffFacts, tools: z.array(z.string()).nullable() }),
  handoff_accepted: z.strictObject({ ...handoffFacts }),
  handoff_completed: z.strictObject({ ...handoffFacts, labels: z.array(z.string()) }),
  /** Older ledgers have no labels here. */
  handoff_reclaimed: z.strictObject({ ...handoffFacts, labels: z.array(z.string()).optional() }),
  handoff_expired: z.strictObject({ ...handoffFacts }),
} as const
export type LedgerEventType = keyof typeof LEDGER_EVENTS
export const ledgerEventTypeSchema = z.enum(Object.keys(LEDGER_EVENTS) as [LedgerEventType, ...LedgerEventType[]])
export type LedgerBody<T extends LedgerEventType> = z.infer<(typeof LEDGER_EVENTS)[T]>

/** What `applyEvent` folds: the type, the time and the facts. */
export type SessionEvent = {
  [T in LedgerEventType]: { readonly type: T; readonly at: string; readonly body: LedgerBody<T> }
}[LedgerEventType]

/** An event in the chain. `hash` is SHA-256 over the canonical JSON of all other members. */
export const chainedEventSchema = z.strictObject({
  session_id: z.string(),
  seq: z.int().min(1),
  type: ledgerEventTypeSchema,
  at: timeSchema,
  body: jsonObjectSchema,
  prev_hash: hashSchema,
  hash: hashSchema,
})
export type ChainedEvent = z.infer<typeof chainedEventSchema>

export const exportEventsQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(1_000).default(500),
})
export const exportEventsReply = z.strictObject({
  session_id: z.string(),
  events: z.array(chainedEventSchema),
  /** Pass as `after` for the next page; null at the end. */
  next: z.int().nullable(),
  head: ledgerHeadSchema,
  compiled_hash: hashSchema,
  /** On the first page, so that an export verifies offline. */
  compiled_session: compiledSessionSchema.nullable(),
  /** The stored snapshot, as of head, for comparison with the fold. */
  state: jsonSchema.nullable(),
  /** On the first page: the newest head that the service signed. Null: none yet; absent in exports of older versions. */
  signed_head: signedHeadSchema.nullable().optional(),
})
export type LedgerExport = z.infer<typeof exportEventsReply>
