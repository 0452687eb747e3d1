import { createHash } from 'node:crypto'
import type {
  Answer,
  Block,
  LedgerBody,
  LedgerEventType,
  Routes,
  StateSnapshot,
  TimelineCall,
  TimelineItem,
} from '@countersign/protocol'

type Receipt = NonNullable<TimelineCall['receipt']>

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')
export const before = (now: Date, seconds: number): string => new Date(now.getTime() - seconds * 1_000).toISOString()

const TOOLS = ['lookup_order', 'verify_identity', 'issue_refund', 'send_email', 'delete_customer']

/** One session from start to end: an allowed step, a block with its failures, a label, a gate, a checkpoint. */
export function sessionStory(now: Date, sessionId: string): TimelineItem[] {
  const startedSeconds = 1_260
  const items: TimelineItem[] = []
  let state = initialState(sessionId, before(now, startedSeconds))
  let labels: string[] = []

  const add = <T extends LedgerEventType>(
    secondsIn: number,
    type: T,
    body: LedgerBody<T>,
    more: { calls?: TimelineCall[]; preflight?: TimelineItem['preflight']; state?: Partial<StateSnapshot> } = {},
  ) => {
    const seq = items.length + 1
    state = { ...state, ...more.state }
    items.push({
      seq,
      at: before(now, startedSeconds - secondsIn),
      type,
      hash: hashOf(`${sessionId} ${seq}`),
      body: body as TimelineItem['body'],
      preflight: more.preflight ?? null,
      calls: more.calls ?? [],
      state,
      labels: [...labels],
    })
  }
  const proposal = (outcome: LedgerBody<'proposal'>['outcome'], calls: TimelineCall[]): LedgerBody<'proposal'> => ({
    proposal_id: `prop_${items.length}`,
    prepared_request_id: `prep_${items.length}`,
    prepared_digest: hashOf('prepared'),
    response_hash: hashOf('response'),
    gate: 'strip_partial',
    model: 'gpt-4o-2024-11-20',
    usage: { input_tokens: 1_840 + items.length * 310, output_tokens: 96 },
    cost: '0.0091',
    outcome,
    calls: calls.map(ledgerCall),
    provider_run: [],
  })
  const narrowed = (removed: NonNullable<TimelineItem['preflight']>['removed'], secondsIn: number) => ({
    at: before(now, startedSeconds - secondsIn),
    model: 'gpt-4o-2024-11-20',
    allowed: TOOLS.filter((tool) => !removed.some((entry) => entry.tool === tool)),
    removed,
  })

  add(0, 'created', {
    agent: 'support',
    environment: 'production',
    holder_id: 'worker-3',
    compiled_hash: hashOf('plan'),
    plan_source: 'approved',
    unmatched_policy: 'block',
    capture_level: 'redacted',
    labels: [],
    has_principal: true,
    initial_phase: 'triage',
    fence: 1,
    workflow: null,
  })
  const first = [
    call(0, 'lookup_order', { order_id: 'A-1042' }, { receipt: receipt(now, 1_247, 0.31, 3) }),
    call(1, 'verify_identity', { customer_id: 'C-88', method: 'postcode' }, { receipt: receipt(now, 1_246, 0.84, 3) }),
  ]
  const locked = {
    tool: 'issue_refund',
    reason: 'precondition_not_met',
    detail: 'verify_identity must come first',
    contract_file: 'contracts/issue_refund.yaml',
  } as const
  add(9, 'proposal', proposal('allowed', first), {
    calls: first,
    preflight: narrowed([locked], 6),
    state: { totalToolCalls: 2, actualCost: 0.0091, toolCallCounts: { lookup_order: 1, verify_identity: 1 } },
  })
  add(14, 'receipts', receiptsOf(items.at(-1)?.calls ?? [], true), {
    state: {
      stateVersion: 1,
      totalStepCount: 1,
      currentPhase: 'resolving',
      totalCost: 0.0091,
      satisfiedPreconditions: { verify_identity: true },
    },
  })
  const blocked = [
    call(0, 'issue_refund', { order_id: 'A-1042', amount: 900, reason: 'late delivery' }, { reasons: TOO_MUCH }),
  ]
  add(31, 'proposal', proposal('blocked', blocked), {
    calls: blocked,
    preflight: narrowed([], 24),
    state: { actualCost: 0.0194, totalBlockCount: 1, consecutiveBlockCount: 1 },
  })
  labels = ['untrusted_input']
  add(44, 'label', { label: 'untrusted_input' }, { state: { controlRevision: 1 } })
  const partial = [
    call(
      0,
      'issue_refund',
      { order_id: 'A-1042', amount: 240, reason: 'late delivery' },
      {
        checkpoints: ['large-refund'],
        receipt: {
          ...receipt(now, 1_150, 1.92, 7),
          approvals: [
            {
              checkpoint_id: 'large-refund',
              decision: 'approve',
              decided_by: 'dana',
              decided_at: before(now, 60),
              reason: 'a known customer',
            },
          ],
        },
      },
    ),
    call(1, 'send_email', { to: 'someone@elsewhere.example', subject: 'Your refund' }, { reasons: UNKNOWN_RECIPIENT }),
  ]
  const gated = { tool: 'delete_customer', reason: 'label_gate', detail: 'untrusted_input' } as const
  add(70, 'proposal', proposal('partial', partial), {
    calls: partial,
    preflight: narrowed([gated], 52),
    state: {
      totalToolCalls: 3,
      actualCost: 0.0301,
      consecutiveBlockCount: 0,
      totalBlockCount: 2,
      toolCallCounts: { lookup_order: 1, verify_identity: 1, issue_refund: 1 },
    },
  })
  labels = ['untrusted_input', 'money_moved']
  add(112, 'receipts', receiptsOf(items.at(-1)?.calls ?? [], true), {
    state: {
      stateVersion: 2,
      totalStepCount: 2,
      totalCost: 0.0198,
      controlRevision: 2,
      forbiddenTools: ['issue_refund'],
    },
  })
  const pending = [call(0, 'send_email', { to: 'anna@customer.example', subject: 'Your refund of 240.00' }, {})]
  add(118, 'proposal', proposal('allowed', pending), {
    calls: pending,
    preflight: narrowed([gated], 114),
    state: {
      totalToolCalls: 4,
      actualCost: 0.0412,
      toolCallCounts: { lookup_order: 1, verify_identity: 1, issue_refund: 1, send_email: 1 },
    },
  })
  return items
}

const TOO_MUCH: Block[] = [
  {
    reason: 'argument_value_mismatch',
    remedy: 'Refund at most 500; the order cost 480. For more, hand the case to a person.',
    contract_file: 'contracts/issue_refund.yaml',
    failures: [
      { path: '$.amount', operator: 'lte', expected: 500, found: 900, contract_file: 'contracts/issue_refund.yaml' },
      { path: '$.reason', operator: 'one_of', expected: ['late', 'damaged', 'wrong_item'], found: 'late delivery' },
    ],
  },
  {
    reason: 'aggregate_limit_exceeded',
    detail: 'refunded',
    remedy: 'The session may refund 1,000 in all; 900 would leave nothing for corrections. Ask for a smaller amount.',
    contract_file: 'contracts/issue_refund.yaml',
    failures: [{ path: '$.amount', operator: 'sum lte', expected: 1_000, found: 1_140 }],
  },
]

const UNKNOWN_RECIPIENT: Block[] = [
  {
    reason: 'argument_value_mismatch',
    detail: 'source',
    remedy: 'Send only to the address that lookup_order returned for this customer.',
    contract_file: 'contracts/send_email.yaml',
    failures: [{ path: '$.to', operator: 'source', expected: ['result of lookup_order at $.email'] }],
  },
]

function call(
  index: number,
  tool: string,
  args: TimelineCall['arguments'],
  {
    reasons = [],
    receipt = null,
    checkpoints = [],
  }: Partial<Pick<TimelineCall, 'reasons' | 'receipt' | 'checkpoints'>>,
): TimelineCall {
  const allowed = reasons.length === 0
  return {
    index,
    call_id: `call_${hashOf(`${tool} ${index}`).slice(0, 12)}`,
    pending_call_id: allowed ? `pend_${hashOf(tool).slice(0, 8)}` : null,
    tool_name: tool,
    decision: allowed ? 'allow' : 'block',
    reasons,
    argument_hash: hashOf(JSON.stringify(args)),
    arguments: args,
    checkpoints,
    commit_requirement: 'executed',
    receipt,
  }
}

function receipt(now: Date, secondsAgo: number, seconds: number, seq: number): Receipt {
  return {
    outcome: 'succeeded',
    evidence_level: 'executed',
    at_level: true,
    late: false,
    argument_hash: hashOf('arguments'),
    result_hash: hashOf(`result ${secondsAgo}`),
    started_at: before(now, secondsAgo),
    finished_at: before(now, secondsAgo - seconds),
    recorded_at: before(now, secondsAgo - 1),
    seq,
    approvals: [],
  }
}

const receiptsOf = (calls: readonly TimelineCall[], committed: boolean): LedgerBody<'receipts'> => ({
  committed,
  receipts: calls.flatMap(({ receipt, pending_call_id, argument_hash }) =>
    receipt === null || pending_call_id === null
      ? []
      : {
          pending_call_id,
          outcome: receipt.outcome,
          evidence_level: receipt.evidence_level,
          argument_hash: argument_hash ?? '',
          result_hash: receipt.result_hash,
          started_at: receipt.started_at,
          finished_at: receipt.finished_at,
          at_level: receipt.at_level,
          late: receipt.late,
          approvals: receipt.approvals.map((approval) => ({ ...approval, argument_hash: argument_hash ?? '' })),
          binds: {},
          establishes: {},
          satisfies: [],
        },
  ),
})

const ledgerCall = ({
  index,
  call_id,
  tool_name,
  decision,
  reasons,
  argument_hash,
  checkpoints,
  pending_call_id,
}: TimelineCall) => ({
  ...{ index, call_id, tool_name, decision, argument_hash, checkpoints, pending_call_id },
  reasons: reasons.map(({ reason }) => reason),
  commit_requirement: 'executed' as const,
  rolls_back: false,
  advances_to: null,
  adds_labels: [],
  amounts: {},
  binds: {},
  establishes: {},
  witnesses: {},
  resources: [],
})

export const initialState = (sessionId: string, startedAt: string): StateSnapshot => ({
  sessionId,
  agent: 'support',
  principal: null,
  startedAt,
  stateVersion: 0,
  controlRevision: 0,
  currentPhase: 'triage',
  totalStepCount: 0,
  totalToolCalls: 0,
  totalCost: 0,
  actualCost: 0,
  toolCallCounts: {},
  forbiddenTools: [],
  satisfiedPreconditions: {},
  lastStep: null,
  lastNarrowing: null,
  killed: false,
  totalUnguardedCalls: 0,
  consecutiveBlockCount: 0,
  totalBlockCount: 0,
})

/** The record of a session as its story leaves it. */
export function sessionDetail(
  items: readonly TimelineItem[],
  row: Answer<Routes['listSessions']>['items'][number],
  killed: boolean,
): Answer<Routes['loadSessionDetail']> {
  const last = items.at(-1)
  if (last === undefined) throw new Error('a story has at least one event')
  const open = killed ? [] : last.calls.filter((entry) => entry.receipt === null && entry.pending_call_id !== null)
  const status = killed ? ('KILLED' as const) : row.status
  return {
    row: { ...row, status },
    pending: open.map((entry) => ({
      pending_call_id: entry.pending_call_id ?? '',
      call_id: entry.call_id,
      tool_name: entry.tool_name,
      argument_hash: entry.argument_hash ?? '',
      state: 'pending' as const,
      checkpoint_required: false,
      idempotency_key: hashOf('key').slice(0, 32),
      proposed_at: last.at,
    })),
    session: {
      session_id: row.session_id,
      mode: 'AUTHORITATIVE',
      status,
      agent: row.agent,
      environment: row.environment,
      state_version: last.state.stateVersion,
      control_revision: last.state.controlRevision,
      fence: 1,
      lease_until: last.at,
      plan_source: 'approved',
      compiled_hash: hashOf('plan'),
      unmatched_policy: 'block',
      capture_level: 'redacted',
      labels: last.labels,
      tool_filter: null,
      workflow_id: row.workflow_id,
      role: row.workflow_id === null ? null : 'triage',
      created_at: row.created_at,
      state: last.state,
      ledger: { seq: last.seq, hash: last.hash },
    },
  }
}
