import { compilePlan } from '@countersign/engine'
import type { CompiledSession, Contract, SharedLimit } from '@countersign/protocol'

/** Whose key a shared limit is kept for: none has one, each session has its own, or all have the same. */
export type Shares = 'none' | 'own' | 'hot'

const SHARED: SharedLimit = {
  name: 'paid',
  tool: 'tool_1',
  per: { argument: '$.note' },
  sum: '$.amount',
  lte: 1e12,
  window: '24h',
}

/** Twenty tools as a help desk would have them: schemas, invariants, an order, sums, labels, risk. */
export function benchPlan(shares: Shares = 'none'): {
  compiled_session: CompiledSession
  compiled_hash: string
  tools: string[]
} {
  const contracts: Contract[] = Array.from({ length: 20 }, (_, index) => ({
    tool: `tool_${index}`,
    side_effect: index % 3 === 0 ? 'read' : index % 3 === 1 ? 'write' : 'financial',
    gate: 'allow',
    commit_requirement: 'executed',
    arguments: {
      type: 'object',
      properties: {
        order_id: { type: 'string', pattern: '^[A-Z]-[0-9]+$' },
        amount: { type: 'number', minimum: 0 },
        note: { type: 'string', maxLength: 200 },
      },
      required: ['order_id', 'amount'],
      additionalProperties: false,
    },
    argument_value_invariants: [{ path: '$.amount', gt: 0, lte: 500 }],
    response_format_invariants: { finish_reason: ['tool_calls', 'stop'] },
    aggregates: [{ name: `sum_${index}`, path: '$.amount', function: 'sum', lte: 1e12 }],
    labels: { deny_when: ['untrusted_input'] },
    ...(index > 10 ? { preconditions: [{ requires_prior_tool: 'tool_1' }] } : {}),
  }))
  const result = compilePlan({
    contracts: contracts.map((value) => ({ file: `${value.tool}.yaml`, value })),
    session: {
      file: 'session.yaml',
      value: {
        session_limits: { loop_detection: { window: 10, threshold: 10 }, max_tool_calls: 1_000_000_000 },
        ...(shares !== 'none' && { shared_limits: [SHARED] }),
      },
    },
  })
  if (!result.ok) throw new Error(JSON.stringify(result.errors))
  const { compiled_session, compiled_hash } = result
  return { compiled_session, compiled_hash, tools: contracts.map(({ tool }) => tool) }
}
