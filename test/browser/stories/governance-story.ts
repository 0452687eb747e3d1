import type { Answer, Routes } from '@countersign/protocol'
import { before, hashOf } from './session-story.js'

type PlanDetail = Answer<Routes['loadPlan']>
type PlanRow = PlanDetail['plan']
type Run = Answer<Routes['startRun']>

const REFUND = `tool: issue_refund
source: inferred
side_effect: financial
arguments:
  type: object
  required: [order_id, amount]
  properties:
    order_id: { type: string, pattern: "^A-[0-9]{4}$" }
    amount: { type: number }
argument_value_invariants:
  - { path: $.amount, gt: 0, lte: 480 }
preconditions:
  - { requires_prior_tool: verify_identity }
`
const LOOKUP = `tool: lookup_order
source: inferred
side_effect: read
arguments:
  type: object
  required: [order_id]
`

export const contractRows = (now: Date): Answer<Routes['listContracts']>['contracts'] => [
  {
    agent: 'support',
    tool_name: 'issue_refund',
    source: 'inferred',
    confidence: 'high',
    samples: 214,
    sessions: 131,
    false_block_bound: 0.0139,
    pass_rate: 0.986,
    approved: true,
    drift: ['issue_refund: $.reason may come from what the user wrote'],
    words: [
      'Moves money: calls that satisfy the rules are allowed.',
      'order_id is text that matches ^A-[0-9]{4}$.',
      'amount is a number.',
      '$.amount is above 0 and is at most 480.',
      'Requires a call of verify_identity first.',
      '$.order_id comes from what the user wrote, or $.id of the result of lookup_order; otherwise a person is asked.',
    ],
    notes: ['Trusts free text: $.reason may come from the middle of a message.'],
    yaml: REFUND,
    updated_at: before(now, 600),
  },
  {
    agent: 'support',
    tool_name: 'lookup_order',
    source: 'inferred',
    confidence: 'high',
    samples: 611,
    sessions: 198,
    false_block_bound: 0.0049,
    pass_rate: 1,
    approved: true,
    drift: [],
    words: ['Reads only: calls that satisfy the rules are allowed.', 'order_id is text that matches ^A-[0-9]{4}$.'],
    notes: [],
    yaml: LOOKUP,
    updated_at: before(now, 60),
  },
  {
    agent: 'billing-ops',
    tool_name: 'change_iban',
    source: 'customer',
    confidence: 'medium',
    samples: 7,
    sessions: 6,
    false_block_bound: 0.348,
    pass_rate: 0.857,
    approved: false,
    drift: [],
    words: [
      'Moves money: calls that satisfy the rules are allowed.',
      'iban is text from 15 to 34 characters.',
      'A person is asked: change of account.',
    ],
    notes: [],
    yaml: 'tool: change_iban\nsource: customer\nside_effect: financial\n',
    updated_at: before(now, 86_000),
  },
  {
    agent: 'research',
    tool_name: 'fetch_page',
    source: 'inferred',
    confidence: 'low',
    samples: 3,
    sessions: 2,
    false_block_bound: null,
    pass_rate: null,
    approved: false,
    drift: [],
    words: ['Reads from outside: calls that satisfy the rules are allowed.', 'url is text of the form uri.'],
    notes: [],
    yaml: 'tool: fetch_page\nsource: inferred\nside_effect: egress_read\n',
    updated_at: before(now, 4_000),
  },
]

export const DRAFT = 'plan_d4c1'
export const BLOCKED_DRAFT = 'plan_e07b'
const RUNNING = 'plan_a910'

export function planRows(now: Date): PlanRow[] {
  const row = (plan_id: string, more: Partial<PlanRow>): PlanRow => ({
    plan_id,
    agent: 'support',
    environment: 'production',
    state: 'draft',
    compiled_hash: hashOf(plan_id),
    origin: 'learned',
    contracts: 5,
    created_at: before(now, 5_400),
    created_by: 'dana@northwind.example',
    decided_at: null,
    decided_by: null,
    decided_why: null,
    ...more,
  })
  const decided = { decided_by: 'lee@northwind.example', decided_at: before(now, 6 * 86_400) }
  return [
    row(DRAFT, {}),
    row(BLOCKED_DRAFT, {
      agent: 'billing-ops',
      environment: 'staging',
      contracts: 3,
      origin: 'submitted',
      created_by: null,
      created_at: before(now, 9_000),
    }),
    row(RUNNING, {
      state: 'approved',
      contracts: 4,
      created_at: before(now, 6.1 * 86_400),
      decided_why: 'Backtest over 1,000 sessions clean; limits agreed with finance.',
      ...decided,
    }),
    row('plan_77f2', {
      state: 'superseded',
      contracts: 4,
      origin: 'submitted',
      created_at: before(now, 20 * 86_400),
      decided_why: 'First version.',
      ...decided,
      decided_at: before(now, 19 * 86_400),
    }),
    row('plan_5b3e', {
      agent: 'research',
      environment: 'development',
      state: 'rejected',
      contracts: 1,
      created_at: before(now, 25 * 86_400),
      decided_why: 'Too few samples to judge.',
      ...decided,
      decided_at: before(now, 24 * 86_400),
    }),
  ]
}

export function planDetail(now: Date, plan: PlanRow): PlanDetail {
  const blocked = plan.plan_id === BLOCKED_DRAFT
  return {
    plan,
    files: [
      { file: 'contracts/issue_refund.yaml', text: REFUND },
      { file: 'contracts/lookup_order.yaml', text: LOOKUP },
    ],
    running:
      plan.state === 'draft' && !blocked ? (planRows(now).find(({ plan_id }) => plan_id === RUNNING) ?? null) : null,
    changes: [
      { tool_name: 'issue_refund', effect: 'blocks', text: 'amounts above 480, where 500 was allowed' },
      { tool_name: 'send_email', effect: 'blocks', text: 'recipients that neither the user nor lookup_order named' },
      {
        tool_name: 'track_parcel',
        effect: 'allows',
        text: 'calls with a parcel number; the tool had no contract before',
      },
      { tool_name: null, effect: 'changes', text: 'the session ends after 60 steps, before it was 50' },
    ],
    blockers: blocked
      ? [
          {
            tool_name: 'export_ledger',
            code: 'TOOL_WITHOUT_CONTRACT',
            message: 'is in use (41 calls last week) and has no contract; add one or allow unmatched tools.',
          },
          {
            tool_name: 'change_iban',
            code: 'DOES_NOT_COMPILE',
            message: 'change_iban.yaml, line 7: gt 500 and lt 100 leave no value.',
          },
        ]
      : [],
    advisories: [
      {
        tool_name: 'track_parcel',
        code: 'LOW_CONFIDENCE',
        message: 'was learned from 6 calls; expect about one false block in three new kinds of call.',
      },
    ],
  }
}

export const runOf = (plan: PlanRow, now: Date): Run => ({
  budget: { used: 13, limit: 5_000 },
  run: {
    run_id: 'run_31',
    status: 'done',
    sessions_done: 198,
    created_at: before(now, 2),
    finished_at: before(now, 1),
    compiled_hash: plan.compiled_hash,
    error: null,
    report: {
      sessions: 198,
      sessions_passed: 195,
      calls: 1_412,
      calls_blocked: 4,
      pass_rate: 195 / 198,
      coverage: 0.994,
      coverage_by_tool: [],
      would_block: { argument_value_mismatch: 3, precondition_not_met: 1 },
      not_judged: { refs: 12 },
      divergences: [
        {
          session: 'ses_b81f',
          turn: 3,
          call: 0,
          tool_name: 'issue_refund',
          expected: 'allow',
          decision: 'block',
          reasons: ['argument_value_mismatch'],
          remedy: 'Refund at most 480.',
        },
        {
          session: 'ses_d70e',
          turn: 1,
          call: 0,
          tool_name: 'issue_refund',
          expected: 'allow',
          decision: 'block',
          reasons: ['argument_value_mismatch'],
          remedy: 'Refund at most 480.',
        },
        {
          session: 'ses_10fd',
          turn: 0,
          call: 1,
          tool_name: 'send_email',
          expected: 'allow',
          decision: 'block',
          reasons: ['precondition_not_met'],
          remedy: 'Call lookup_order first.',
        },
      ],
    },
  },
})
