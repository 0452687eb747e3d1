import { z } from 'zod'
import { agentSchema, environmentSchema, hashSchema, idSchema, timeSchema, toolNameSchema } from '../base/ids.js'
import { jsonSchema } from '../base/json.js'
import { allowOrBlockSchema, sideEffectSchema } from '../contract/contract-rules.js'
import { compiledSessionSchema } from '../contract/plan.js'
import { unmatchedPolicySchema } from '../session/session.js'

/** A session given as data: its calls in order, with the results that the plan may read. */
export const runFixtureSchema = z.strictObject({
  name: z.string().min(1).max(200),
  labels: z.array(z.string()).optional(),
  principal: jsonSchema.optional(),
  user: z.array(z.string()).optional(),
  turns: z
    .array(
      z.strictObject({
        calls: z
          .array(
            z.strictObject({
              name: toolNameSchema,
              arguments: jsonSchema,
              result: jsonSchema.optional(),
              expect: allowOrBlockSchema.optional(),
            }),
          )
          .max(64),
      }),
    )
    .max(1_000),
})
export type RunFixture = z.infer<typeof runFixtureSchema>

/** What to judge (a plan by hash, by id, or inline) against what (captured sessions of an agent, or fixtures). */
export const createRunBody = z.strictObject({
  run_id: idSchema,
  plan: z.union([
    z.strictObject({ compiled_hash: hashSchema }),
    z.strictObject({ compiled_session: compiledSessionSchema }),
  ]),
  against: z.union([
    z.strictObject({
      agent: agentSchema,
      environment: environmentSchema.optional(),
      since: timeSchema.optional(),
      max_sessions: z.int().min(1).max(10_000).default(1_000),
    }),
    z.strictObject({ fixtures: z.array(runFixtureSchema).min(1).max(500) }),
  ]),
  unmatched_policy: unmatchedPolicySchema.default('block'),
})

/** Rules that read what a past session may lack: results, flows, the request, the principal. */
export const UNJUDGED_RULES = [
  'sources',
  'refs',
  'envelopes',
  'with_output',
  'input_invariants',
  'policy',
  'hours',
  'shared_limits',
  'conditions',
] as const
export const unjudgedRuleSchema = z.enum(UNJUDGED_RULES)
export type UnjudgedRule = z.infer<typeof unjudgedRuleSchema>

export const divergenceSchema = z.strictObject({
  session: z.string(),
  turn: z.int(),
  call: z.int(),
  tool_name: z.string(),
  expected: allowOrBlockSchema,
  decision: allowOrBlockSchema,
  reasons: z.array(z.string()),
  remedy: z.string().nullable(),
})
/** Calls of one tool that are decided otherwise than expected: of a captured session, otherwise than they were recorded. */
export const changedCallsSchema = z.strictObject({
  tool_name: z.string(),
  /** As its contract in the plan says; in the review of a plan, the stricter of that and of the plan that it replaces. */
  side_effect: sideEffectSchema.nullable(),
  newly_allowed: z.int(),
  /** Those of the newly allowed about which a person is asked first. */
  asked: z.int(),
  newly_blocked: z.int(),
})
export type ChangedCalls = z.infer<typeof changedCallsSchema>
export const runReportSchema = z.strictObject({
  sessions: z.int(),
  sessions_passed: z.int(),
  calls: z.int(),
  calls_blocked: z.int(),
  pass_rate: z.number(),
  coverage: z.number(),
  coverage_by_tool: z.array(
    z.strictObject({
      tool_name: z.string(),
      calls: z.int(),
      covered: z.boolean(),
      argument_paths: z.array(z.strictObject({ path: z.string(), seen: z.int(), constrained: z.boolean() })),
    }),
  ),
  would_block: z.record(z.string(), z.int()),
  /** Calls that were blocked and would be allowed, and the other way round. */
  newly_allowed: z.int(),
  newly_blocked: z.int(),
  /** By tool, those with most newly allowed calls first; at most 256 tools. */
  changed_calls: z.array(changedCallsSchema),
  /** Calls that a kind of rule could not judge because what it reads was not recorded. */
  not_judged: z.partialRecord(unjudgedRuleSchema, z.int()),
  divergences: z.array(divergenceSchema),
})
export type RunReport = z.infer<typeof runReportSchema>
export const runViewSchema = z.strictObject({
  run_id: z.string(),
  status: z.enum(['queued', 'running', 'done', 'failed']),
  /** Sessions judged so far; of all of them once it is done. */
  sessions_done: z.int().default(0),
  created_at: timeSchema,
  finished_at: timeSchema.nullable(),
  compiled_hash: hashSchema,
  report: runReportSchema.nullable(),
  error: z.string().nullable(),
})
export type RunView = z.infer<typeof runViewSchema>
export const runBudgetSchema = z.strictObject({ used: z.int(), limit: z.int() })
export const createRunReply = z.strictObject({
  run: runViewSchema,
  budget: runBudgetSchema,
})
