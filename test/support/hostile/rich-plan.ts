import type { JsonObject } from '@countersign/protocol'

/** A contract with one of every rule. */
const CONTRACT: JsonObject = {
  tool: 'refund',
  description: 'pays money back',
  side_effect: 'write',
  gate: 'allow',
  arguments: {
    type: 'object',
    properties: { amount: { type: 'number', maximum: 500 }, note: { type: 'string', pattern: '^[a-z ]+$' } },
    anyOf: [{ required: ['amount'] }, { required: ['note'] }],
    patternProperties: { '^x-': { type: 'string' } },
    $defs: { money: { type: 'number' } },
  },
  assertions: {
    input_invariants: [{ path: '$.model', one_of: ['gpt', 'claude'] }],
    output_invariants: [{ path: '$.status', equals: 'done' }],
  },
  argument_value_invariants: [
    { path: '$.amount', gt: 0, lte: 500 },
    { path: '$.note', not_regex: 'secret|password', message: 'no secrets' },
    { path: '$..id', not_one_of: ['a', 'b'] },
    { path: '$.rows[*].id', schema: { type: 'string' } },
  ],
  response_format_invariants: { finish_reason: ['tool_calls', 'stop'], content: 'any' },
  transitions: { valid_in_phases: ['open', 'checked'], advances_to: 'done' },
  preconditions: [
    {
      requires_prior_tool: 'look',
      with_output: [{ path: '$.status', equals: 'paid' }],
      same: [{ path: '$.order', as: '$.order' }],
    },
  ],
  forbids_after: ['look'],
  binds: [{ name: 'order', from: 'argument', path: '$.order' }],
  refs: [{ path: '$.order', ref: 'order_seen' }],
  sources: [{ path: '$.note', from: ['user', { result: 'look', path: '$.rows[*].id', as: 'line' }], otherwise: 'ask' }],
  columns: [{ path: '$.status', place: 'cell', holds: ['id'] }],
  aggregates: [{ name: 'paid', path: '$.amount', function: 'sum', lte: 1_000 }],
  envelopes: [{ name: 'price', path: '$.amount', direction: 'at_most', tolerance_percent: 5 }],
  labels: { deny_when: ['tainted'], adds: ['paid_out'] },
  resources: [{ key: 'order:{$.order}', mode: 'exclusive' }],
  execution_constraints: { arguments: [{ path: '$.amount', lte: 400 }] },
  checkpoint: [
    { when: [{ path: '$.amount', gt: 100 }], reason: 'large', context: [{ label: 'amount', path: '$.amount' }] },
  ],
  policy: { cedar: 'permit(principal, action, resource) when { context.arguments.amount < 400 };' },
  hours: { time_zone: 'Europe/Berlin', allow: [{ days: 'mon-sun', from: '00:00', to: '24:00' }] },
  timeouts: { total_ms: 60_000 },
}

const LOOK: JsonObject = {
  tool: 'look',
  side_effect: 'read',
  binds: [{ name: 'order_seen', path: '$.order' }],
  establishes: [{ name: 'price', path: '$.price' }],
}

/** A session definition with one of every rule. */
export const RICH_SESSION: JsonObject = {
  agent: 'desk',
  phases: [{ name: 'open', initial: true }, { name: 'checked' }, { name: 'done', terminal: true }],
  transitions: { open: ['checked', 'done'], checked: ['done'] },
  session_limits: { max_steps: 50, max_calls_per_tool: { refund: 3 }, loop_detection: { window: 8, threshold: 3 } },
  shared_limits: [{ name: 'daily', tool: 'refund', per: 'principal', window: '24h', max_calls: 10 }],
  risk_defaults: { write: 'allow' },
  pricing: { 'gpt-*': { input: 1, output: 2 } },
  policy: { cedar: 'permit(principal, action, resource);' },
  provider_constraints: { block_incompatible: ['parallel_tool_calls'] },
}

/** Contracts as they are written. */
export const RICH_CONTRACTS: readonly JsonObject[] = [CONTRACT, LOOK]
