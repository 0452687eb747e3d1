// npm run bench -- engine: what does it cost to judge one proposal with one call against the full ladder?
// The baseline is JSON.parse and a compiled Ajv schema on the same arguments, alternating in the same run: only ratios
// are given, because machines differ. Limits: ratio at most 10; all growths at most 1.3.
import {
  applyEvent,
  compilePlan,
  describeNote,
  evaluateProposal,
  initialState,
  judgeReceipts,
  type Plan,
  readResponse,
  type SessionState,
} from '@countersign/engine'
import type { Condition, Contract, JsonObject, SessionDefinition, SessionEvent } from '@countersign/protocol'
import { Ajv2020 } from 'ajv/dist/2020.js'

const ROUNDS = 200
const CALLS_PER_ROUND = 100
const SALT = 'bench'
const AT = '2026-01-01T00:00:00.000Z'
/** How many orders a long session has to do with: nearly as many as it may. */
const KEYS = 250
const NOTHING = '0'.repeat(64)

const ARGUMENTS: JsonObject = {
  order_id: 'A-100233',
  customer_id: 'c-88121',
  amount: 129.9,
  currency: 'EUR',
  reason: 'The parcel arrived damaged and the customer sent three photographs of it.',
  items: [
    { sku: 'BK-1', quantity: 1, price: 99.9 },
    { sku: 'BK-2', quantity: 2, price: 15 },
  ],
  notify: { email: 'ann@example.com', language: 'de' },
}

const text = { type: 'string', minLength: 1, maxLength: 200 }
const SCHEMA: JsonObject = {
  type: 'object',
  required: ['order_id', 'customer_id', 'amount', 'currency', 'items'],
  additionalProperties: false,
  properties: {
    order_id: text,
    customer_id: text,
    amount: { type: 'number', minimum: 0 },
    currency: { enum: ['EUR', 'USD', 'GBP'] },
    reason: text,
    items: {
      type: 'array',
      maxItems: 100,
      items: {
        type: 'object',
        required: ['sku', 'quantity'],
        properties: { sku: text, quantity: { type: 'integer', minimum: 1 }, price: { type: 'number' } },
      },
    },
    notify: { type: 'object', properties: { email: text, language: text } },
  },
}

/** Ten rules: schema, two values, output, format, phase, precondition, forbids_after, a sum per order, label gate. */
const REFUND: Contract = {
  tool: 'issue_refund',
  arguments: SCHEMA,
  argument_value_invariants: [
    { path: '$.amount', gt: 0, lte: 500 },
    { path: '$.order_id', regex: '^A-[0-9]+$' },
  ],
  assertions: { output_invariants: [{ path: '$.finish_reason', equals: 'tool_calls' }] },
  response_format_invariants: { finish_reason: ['tool_calls'], content: 'empty' },
  transitions: { valid_in_phases: ['resolving'] },
  preconditions: [{ requires_prior_tool: 'verify' }],
  forbids_after: ['close'],
  aggregates: [{ name: 'refunded', key: '$.order_id', path: '$.amount', lte: 100_000_000 }],
  labels: { deny_when: ['untrusted_input'] },
}

/** The same with two conditions on every rule that may have some, all of which hold. */
function conditioned(contract: Contract): Contract {
  const when: Condition[] = [
    { path: '$.currency', equals: 'EUR' },
    { label: 'trusted', exists: false },
  ]
  const under = <Rule extends object>(rules: readonly Rule[] = []): Rule[] => rules.map((rule) => ({ ...rule, when }))
  return {
    ...contract,
    argument_value_invariants: under(contract.argument_value_invariants),
    preconditions: under(contract.preconditions),
    aggregates: under(contract.aggregates),
    labels: { deny_when: [{ label: 'untrusted_input', when }] },
  }
}

const SESSION: SessionDefinition = {
  phases: [
    { name: 'resolving', initial: true },
    { name: 'closed', terminal: true },
  ],
  transitions: { resolving: ['closed'] },
  session_limits: { max_steps: 1_000_000, max_tool_calls: 1_000_000, loop_detection: { window: 10, threshold: 11 } },
}

function planWith(tools: number, refund: Contract = REFUND): Plan {
  const others = Array.from(
    { length: tools - 3 },
    (_, at): Contract => ({
      tool: `tool_${at}`,
      side_effect: 'read',
      argument_value_invariants: [{ path: '$.query', type: 'string' }],
    }),
  )
  const contracts: Contract[] = [refund, { tool: 'verify', side_effect: 'read' }, { tool: 'close' }, ...others]
  const compiled = compilePlan({
    contracts: contracts.map((value) => ({ file: value.tool, value })),
    session: { file: 'session', value: SESSION },
  })
  if (!compiled.ok) throw new Error(compiled.errors.map(describeNote).join('\n'))
  return compiled.plan
}

const RESPONSE = (name: string, args: string) => ({
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name, arguments: args } }],
      },
    },
  ],
})

/** Once: tsx names each function that it meets, which would cost more than some rules do. */
const IDS = { sessionId: 's', proposalId: 'p', pendingCallId: (index: number) => `p.${index}` }

function judge(plan: Plan, state: SessionState, name: string, args: string) {
  return evaluateProposal({
    plan,
    state,
    response: readResponse(RESPONSE(name, args)),
    gate: 'reject_all',
    unmatchedPolicy: 'block',
    agent: 'bench',
    salt: SALT,
    nowMs: 0,
    offered: null,
    toolless: false,
    ids: IDS,
  })
}

/** A session after this many committed steps, made by the functions that the server and the SDK use. */
function sessionAt(plan: Plan, steps: number): SessionState {
  let state = initialState(plan, {
    type: 'created',
    at: AT,
    body: {
      agent: 'bench',
      environment: null,
      holder_id: 'h',
      compiled_hash: plan.hash,
      plan_source: 'client',
      unmatched_policy: 'block',
      capture_level: 'redacted',
      labels: [],
      has_principal: false,
      initial_phase: 'resolving',
      fence: 1,
      workflow: null,
    },
  })
  const apply = (event: SessionEvent) => {
    state = applyEvent(state, event, plan)
  }
  for (let step = 0; step < steps; step++) {
    const name = step === 0 ? 'verify' : 'issue_refund'
    const verdict = judge(plan, state, name, JSON.stringify({ ...ARGUMENTS, order_id: `A-${step % KEYS}` }))
    const [decision] = verdict.decisions
    const id = decision?.pending_call_id
    if (id == null || decision?.argument_hash == null) throw new Error(`step ${step}: ${decision?.remedy}`)
    apply({ type: 'proposal', at: AT, body: { ...verdict.event, prepared_request_id: 'r', prepared_digest: NOTHING } })
    const receipt = {
      pending_call_id: id,
      outcome: 'succeeded' as const,
      evidence_level: 'executed' as const,
      argument_hash: decision.argument_hash,
      result_hash: NOTHING,
      started_at: AT,
      finished_at: AT,
    }
    apply({
      type: 'receipts',
      at: AT,
      body: judgeReceipts({ plan, state, receipts: [receipt], fence: 1, salt: SALT, at: AT }).event,
    })
  }
  if (state.stateVersion !== steps) throw new Error(`${state.stateVersion} steps of ${steps} committed`)
  return state
}

const small = planWith(10)
const large = planWith(1_000)
const conditional = planWith(10, conditioned(REFUND))
const args = JSON.stringify(ARGUMENTS)
const ajv = new Ajv2020({ allErrors: true }).compile(SCHEMA)
const early = sessionAt(small, 10)
const earlyLarge = sessionAt(large, 10)
const late = sessionAt(small, 10_000)
const earlyConditional = sessionAt(conditional, 10)

const WORK = {
  ajv: () => {
    if (!ajv(JSON.parse(args))) throw new Error('the schema must pass')
  },
  early: () => mustAllow(judge(small, early, 'issue_refund', args)),
  large: () => mustAllow(judge(large, earlyLarge, 'issue_refund', args)),
  late: () => mustAllow(judge(small, late, 'issue_refund', args)),
  conditions: () => mustAllow(judge(conditional, earlyConditional, 'issue_refund', args)),
} as const

function mustAllow({ outcome, decisions }: ReturnType<typeof judge>): void {
  if (outcome !== 'allowed') throw new Error(decisions[0]?.remedy ?? outcome)
}

const times: Record<keyof typeof WORK, number[]> = { ajv: [], early: [], large: [], late: [], conditions: [] }
for (let round = -40; round < ROUNDS; round++) {
  for (const name of Object.keys(WORK) as (keyof typeof WORK)[]) {
    const calls = name === 'ajv' ? CALLS_PER_ROUND * 10 : CALLS_PER_ROUND
    const startedMs = performance.now()
    for (let call = 0; call < calls; call++) WORK[name]()
    const us = ((performance.now() - startedMs) * 1_000) / calls
    if (round >= 0) times[name].push(us)
  }
}

/** The fastest of the interleaved rounds: other work on the machine can only add time. */
const typical = (list: readonly number[]) => Math.min(...list)
const us = {
  ajv: typical(times.ajv),
  early: typical(times.early),
  large: typical(times.large),
  late: typical(times.late),
  conditions: typical(times.conditions),
}
const rounded = (value: number) => Math.round(value * 100) / 100
console.log(
  `microseconds: ${Object.entries(us)
    .map(([name, value]) => `${name} ${rounded(value)}`)
    .join(', ')}`,
)
console.log(
  JSON.stringify({
    bench: 'engine',
    ratio_to_ajv: rounded(us.early / us.ajv),
    growth_10_to_1000_tools: rounded(us.large / us.early),
    growth_step_10_to_10000: rounded(us.late / us.early),
    growth_with_conditions: rounded(us.conditions / us.early),
  }),
)
