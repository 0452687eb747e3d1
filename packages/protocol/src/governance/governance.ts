import { z } from 'zod'
import { agentSchema, environmentSchema, hashSchema, idSchema, timeSchema } from '../base/ids.js'
import { jsonSchema } from '../base/json.js'
import { allowOrBlockSchema } from '../contract/contract-rules.js'
import { packFileSchema } from '../contract/plan.js'
import { pageOf, pageQuery } from '../http/paging.js'
import type { Route } from '../http/route.js'
import { createRunReply, runReportSchema, runViewSchema } from './run.js'

const view = { method: 'GET', auth: 'cookie', role: 'viewer', throttle: 'dashboard' } as const
const change = { method: 'POST', auth: 'cookie', role: 'approver', throttle: 'dashboard' } as const
const decide = { ...change, role: 'owner' } as const
const submit = { method: 'POST', auth: 'api_key', access: ['all'], about: 'body', throttle: 'write' } as const

/** A remark on a draft: a blocker prevents approval, an advisory only informs. */
export const planRemarkSchema = z.strictObject({
  tool_name: z.string().nullable(),
  code: z.string(),
  message: z.string(),
})
export const planChangeSchema = z.strictObject({
  tool_name: z.string().nullable(),
  effect: z.enum(['allows', 'blocks', 'changes']),
  text: z.string(),
})
export const PLAN_STATES = ['draft', 'approved', 'superseded', 'rejected'] as const

export const planRowSchema = z.strictObject({
  plan_id: z.string(),
  agent: z.string(),
  environment: environmentSchema,
  state: z.enum(PLAN_STATES),
  compiled_hash: hashSchema,
  origin: z.enum(['learned', 'submitted']),
  contracts: z.int(),
  created_at: timeSchema,
  created_by: z.string().nullable(),
  decided_at: timeSchema.nullable(),
  decided_by: z.string().nullable(),
  decided_why: z.string().nullable(),
})
export type PlanRow = z.infer<typeof planRowSchema>

/** How often a learned plan asks and blocks: what it promised when it was approved, and what has come of it since. */
export const planRatesSchema = z.strictObject({
  /** The share of requests in which a person may be asked about an unusual call, as chosen. */
  alpha: z.number(),
  /** Captured requests by which the plan measured itself. */
  requests: z.int(),
  promised: z.strictObject({ asked: z.number(), blocked: z.number() }),
  /** Shares of the captured requests in which a person would have been asked, had another `alpha` been chosen. */
  choices: z.array(z.strictObject({ alpha: z.number(), asked: z.number() })),
  /** Rules that ask because they would wrongly block too many of the captured requests, and the share of each. */
  demoted: z.array(z.strictObject({ rule: z.string(), share: z.number() })),
  /** Captured sessions that look attacked and were not learned from: how many, and the first of them. Null if none. */
  left_out: z.strictObject({ sessions: z.int(), named: z.array(z.string()) }).nullable(),
  /** The newest sessions under the plan since its approval; null before. */
  measured: z.strictObject({ since: timeSchema, sessions: z.int(), asked: z.int(), blocked: z.int() }).nullable(),
  /** Why the promise does not hold, in a sentence; null while it does. */
  drift: z.string().nullable(),
})
export type PlanRates = z.infer<typeof planRatesSchema>

/** What a finished backtest found, in figures. */
export const planBacktestSchema = runReportSchema
  .pick({
    sessions: true,
    sessions_passed: true,
    calls: true,
    newly_allowed: true,
    newly_blocked: true,
    changed_calls: true,
    not_judged: true,
  })
  .extend({ run_id: z.string(), created_at: timeSchema })
export type PlanBacktest = z.infer<typeof planBacktestSchema>

export const planDetailSchema = z.strictObject({
  plan: planRowSchema,
  /** The contracts as files a person can read and edit. */
  files: z.array(z.strictObject({ file: z.string(), text: z.string() })),
  /** Names this version of the files to the letter; versions that differ in comments have the same `compiled_hash`. */
  files_hash: hashSchema,
  running: planRowSchema.nullable(),
  changes: z.array(planChangeSchema),
  blockers: z.array(planRemarkSchema),
  advisories: z.array(planRemarkSchema),
  /** Null for a plan that was not learned. */
  rates: planRatesSchema.nullable(),
  /** The newest finished backtest of these very contracts over captured sessions of the agent: an approval cites it. */
  backtest: planBacktestSchema.nullable(),
  /** Another such backtest waits or is under way. */
  backtest_under_way: z.boolean(),
})
export type PlanDetail = z.infer<typeof planDetailSchema>

export const contractRowSchema = z.strictObject({
  agent: z.string(),
  tool_name: z.string(),
  source: z.enum(['inferred', 'customer']),
  confidence: z.enum(['low', 'medium', 'high']),
  /** Captured calls of the tool; those that were learned from; and of these, those that no rule judged. */
  calls: z.int(),
  samples: z.int(),
  unjudged: z.int(),
  /** Conversations in which it was seen; an estimate from 64 on. */
  sessions: z.int(),
  /** Upper bound of the false-block rate of the next call, with its confidence in words. */
  false_block_bound: z.number().nullable(),
  pass_rate: z.number().nullable(),
  approved: z.boolean(),
  drift: z.array(z.string()),
  /** Its rules, a sentence each. */
  words: z.array(z.string()),
  /** What a reviewer should look at before approving it. */
  notes: z.array(z.string()),
  yaml: z.string(),
  updated_at: timeSchema,
})
export type ContractRow = z.infer<typeof contractRowSchema>

const planPath = z.strictObject({ plan_id: idSchema })
const packFiles = z.array(packFileSchema).min(1).max(512)
const why = z.strictObject({ why: z.string().trim().min(1).max(1_000) })

export const submitPlanBody = z.strictObject({ agent: agentSchema, environment: environmentSchema, files: packFiles })
/** `alpha`: the share of requests like those captured in which a person may be asked about an unusual call. */
export const draftPlanBody = z.strictObject({
  agent: agentSchema,
  environment: environmentSchema,
  alpha: z.number().gt(0).lt(1).optional(),
})

/** `rule`: as in a card, `tool#0`. */
export const draftAskingLessBody = z.strictObject({ agent: agentSchema, rule: z.string().max(400) })
export const draftAskingLessReply = z.strictObject({
  plan_id: z.string(),
  /** What of a checkpoint is changed, and what that would have done to the calls that people decided. Null: learned anew. */
  change: z
    .strictObject({
      /** The condition, in words. */
      was: z.string(),
      is: z.string(),
      decided: z.int(),
      /** Denied, or changed by a person: each of them would be asked about still. */
      denied: z.int(),
      still_asked: z.int(),
    })
    .nullable(),
})
export type DraftAskingLess = z.infer<typeof draftAskingLessReply>

/** Governance for people: learned contracts, drafts, approval, backtests. API keys may submit and compare plans. */
export const governanceRoutes = {
  submitPlan: {
    ...submit,
    path: '/api/v1/governance/plans',
    status: 201,
    summary: 'Submit a contract pack as a draft plan',
    body: submitPlanBody,
    reply: planDetailSchema,
  },
  diffPlan: {
    ...submit,
    path: '/api/v1/governance/plans/diff',
    summary: 'Compare a contract pack with the running plan, in words',
    body: submitPlanBody,
    reply: z.strictObject({
      compiled_hash: hashSchema,
      running_hash: hashSchema.nullable(),
      changes: z.array(planChangeSchema),
      blockers: z.array(planRemarkSchema),
      advisories: z.array(planRemarkSchema),
    }),
  },
  listContracts: {
    ...view,
    path: '/api/dashboard/contracts',
    summary: 'Learned contracts with confidence, samples, coverage and pass rate',
    query: z.strictObject({ agent: agentSchema.optional() }),
    reply: z.strictObject({
      contracts: z.array(contractRowSchema),
      /** Only the first megabytes are listed: there are others. */
      more: z.boolean(),
    }),
  },
  listPlans: {
    ...view,
    path: '/api/dashboard/plans',
    summary: 'Plans by agent and environment, newest first',
    query: pageQuery.extend({
      agent: agentSchema.optional(),
      environment: environmentSchema.optional(),
      state: z.enum(PLAN_STATES).optional(),
    }),
    reply: pageOf(planRowSchema),
  },
  draftPlan: {
    ...change,
    path: '/api/dashboard/plans',
    status: 201,
    summary: 'Create a draft plan from the learned contracts of an agent',
    body: draftPlanBody,
    reply: planDetailSchema,
  },
  draftAskingLess: {
    ...change,
    path: '/api/dashboard/plans/asking-less',
    status: 201,
    summary: 'Draft the plan in force with a rule that asks people about less, and still about all that they denied',
    body: draftAskingLessBody,
    reply: draftAskingLessReply,
  },
  loadPlan: {
    ...view,
    path: '/api/dashboard/plans/:plan_id',
    summary: 'One plan: files, changes from the running plan, blockers, advisories',
    params: planPath,
    reply: planDetailSchema,
  },
  editPlan: {
    ...change,
    path: '/api/dashboard/plans/:plan_id/files',
    summary: 'Replace the files of a draft',
    params: planPath,
    /**
     * Requires the hash of the edited version, so that no concurrent change is lost: `files_hash` to the letter,
     * `compiled_hash` for what the contracts mean.
     */
    body: z.strictObject({
      files: packFiles,
      files_hash: hashSchema.optional(),
      compiled_hash: hashSchema.optional(),
    }),
    reply: planDetailSchema,
  },
  approvePlan: {
    ...decide,
    path: '/api/dashboard/plans/:plan_id/approve',
    summary: 'Approve a draft; it becomes the running plan',
    params: planPath,
    /** Requires the hash that was reviewed, so that nothing else is approved. */
    body: why.extend({ compiled_hash: hashSchema.optional() }),
    reply: planDetailSchema,
  },
  rejectPlan: {
    ...decide,
    path: '/api/dashboard/plans/:plan_id/reject',
    summary: 'Reject a draft',
    params: planPath,
    body: why,
    reply: planDetailSchema,
  },
  listCaptures: {
    ...view,
    path: '/api/dashboard/captures',
    summary: 'Captures, newest first',
    query: pageQuery.extend({ agent: agentSchema.optional(), tool: z.string().max(256).optional() }),
    reply: pageOf(
      z.strictObject({
        capture_id: z.string(),
        agent: z.string(),
        conversation_id: z.string(),
        at: timeSchema,
        tool_names: z.array(z.string()),
        capture_level: z.string(),
        decision: allowOrBlockSchema.nullable(),
        calls: jsonSchema,
      }),
    ),
  },
  listRuns: {
    ...view,
    path: '/api/dashboard/runs',
    summary: 'Backtests, newest first',
    query: pageQuery.extend({ compiled_hash: hashSchema.optional() }),
    reply: pageOf(runViewSchema),
  },
  startRun: {
    ...change,
    path: '/api/dashboard/runs',
    status: 201,
    summary: 'Backtest a plan against the captured sessions of its agent',
    body: z.strictObject({ plan_id: idSchema, max_sessions: z.int().min(1).max(10_000).default(1_000) }),
    reply: createRunReply,
  },
  loadRunDetail: {
    ...view,
    path: '/api/dashboard/runs/:run_id',
    summary: 'One backtest',
    params: z.strictObject({ run_id: idSchema }),
    reply: createRunReply,
  },
} as const satisfies Record<string, Route>
