import { compilePlan } from '@countersign/engine'
import type { CompiledSession, Contract, SessionDefinition } from '@countersign/protocol'

export interface TestPlan {
  compiled_session: CompiledSession
  compiled_hash: string
}

/** Compiles contracts written as objects. */
export function planOf(contracts: readonly Contract[], session: SessionDefinition = {}): TestPlan {
  const result = compilePlan({
    contracts: contracts.map((value) => ({ file: `${value.tool}.yaml`, value })),
    session: { file: 'session.yaml', value: session },
  })
  if (!result.ok)
    throw new Error(result.errors.map(({ file, path, message }) => `${file} ${path}: ${message}`).join('\n'))
  const { compiled_session, compiled_hash } = result
  return { compiled_session, compiled_hash }
}

/** A help desk: look an order up, then refund it, within bounds; mail is only evidence of itself. */
export const HELP_DESK: readonly Contract[] = [
  { tool: 'lookup_order', side_effect: 'read', arguments: objectOf({ order_id: { type: 'string' } }) },
  {
    tool: 'issue_refund',
    side_effect: 'destructive',
    gate: 'allow',
    evidence_class: 'unverifiable',
    commit_requirement: 'executed',
    arguments: objectOf({ order_id: { type: 'string' }, amount: { type: 'number' } }),
    argument_value_invariants: [{ path: '$.amount', gt: 0, lte: 500 }],
    preconditions: [{ requires_prior_tool: 'lookup_order' }],
    aggregates: [{ name: 'refunded', path: '$.amount', function: 'sum', lte: 1000 }],
    labels: { deny_when: ['untrusted_input'], adds: ['money_moved'] },
  },
  {
    tool: 'reserve',
    side_effect: 'write',
    evidence_class: 'local_transaction',
    arguments: objectOf({ amount: { type: 'number' } }),
    aggregates: [{ name: 'reserved', path: '$.amount', function: 'sum', lte: 100 }],
    timeouts: { total_ms: 600_000 },
  },
  { tool: 'send_mail', side_effect: 'write', arguments: objectOf({ to: { type: 'string' } }) },
]

function objectOf(properties: Record<string, { type: string }>) {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}
