import { type Answer, BLOCK_REASON_NAMES, type Routes } from '@countersign/protocol'
import { hashOf } from './session-story.js'

/** What the playground answers to its own example. */
export function judgement(): Answer<Routes['judgePlayground']> {
  const ladder = (applies: string | null) =>
    BLOCK_REASON_NAMES.map((reason) => ({ reason, applies: reason === applies }))
  return {
    ok: true,
    errors: [],
    warnings: [
      {
        file: 'lookup_order.yaml',
        line: null,
        message: 'has no schema of its arguments, so any are allowed',
        fix: 'add arguments',
      },
    ],
    compiled_hash: hashOf('playground'),
    narrowing: { allowed: ['lookup_order', 'issue_refund'], removed: [] },
    calls: [
      {
        call_id: 'call_1',
        tool_name: 'lookup_order',
        decision: 'allow',
        ladder: ladder(null),
        reasons: [],
        checkpoints: [],
      },
      {
        call_id: 'call_2',
        tool_name: 'issue_refund',
        decision: 'block',
        ladder: ladder('argument_value_mismatch'),
        reasons: [
          {
            reason: 'argument_value_mismatch',
            remedy: 'Use an amount of at most 500.',
            contract_file: 'issue_refund.yaml',
            failures: [{ path: '$.amount', operator: 'lte', expected: 500, found: 900 }],
          },
        ],
        checkpoints: [],
      },
    ],
  }
}
