import type { Contract } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { describeContract } from './describe-contract.js'

test.each<[Contract, string[]]>([
  [{ tool: 't' }, ["Its side effect is not declared: the session's default for this risk applies."]],
  [{ tool: 't', side_effect: 'destructive', gate: 'block' }, ['May destroy data: every call is blocked.']],
  [
    {
      tool: 't',
      side_effect: 'read',
      gate: 'allow',
      arguments: {
        type: 'object',
        required: ['order_id'],
        properties: {
          order_id: { type: 'string', pattern: '^A-' },
          count: { type: 'integer', minimum: 1, maximum: 9 },
          kind: { enum: ['late', 'lost'] },
          tags: { type: 'array', maxItems: 3 },
        },
        additionalProperties: false,
      },
    },
    [
      'Reads only: calls that satisfy the rules are allowed.',
      'order_id is text that matches ^A-.',
      'count is a whole number from 1 to 9 (optional).',
      'kind is a value from the list “late”, “lost” (optional).',
      'tags is a list of at most 3 items (optional).',
      'No other arguments are allowed.',
    ],
  ],
  [
    {
      tool: 'issue_refund',
      side_effect: 'financial',
      gate: 'allow',
      argument_value_invariants: [{ path: '$.amount', gt: 0, lte: 500, message: 'not shown' }],
      assertions: { input_invariants: [{ path: '$.model', regex: '^gpt-' }] },
      preconditions: [
        {
          requires_prior_tool: 'find_order',
          same: [{ path: '$.order_id', as: '$.id' }],
          with_output: [{ path: '$.open', equals: true }],
        },
        { requires_step_count: { gte: 2 } },
      ],
      transitions: { valid_in_phases: ['resolving'], advances_to: 'closed' },
      forbids_after: ['issue_refund'],
      sources: [{ path: '$.iban', from: ['user', { result: 'find_order', path: '$.iban' }], otherwise: 'ask' }],
      refs: [{ path: '$.order_id', ref: 'order' }],
      aggregates: [
        { name: 'all', path: '$.amount', function: 'sum', lte: 1000 },
        { name: 'often', function: 'count', lt: 4 },
      ],
      envelopes: [{ name: 'paid', path: '$.amount', direction: 'at_most', tolerance_percent: 5 }],
      labels: { deny_when: ['untrusted'], adds: ['money_moved'] },
      resources: [{ key: 'order:{$.order_id}', mode: 'exclusive' }],
      execution_constraints: { arguments: [{ path: '$.amount', lte: 500 }] },
      checkpoint: { when: [{ path: '$.amount', gt: 200 }], reason: 'large refund' },
      policy: { cedar: 'permit (principal, action, resource);' },
      principal: 'proven',
    },
    [
      'Moves money: calls that satisfy the rules are allowed.',
      '$.amount is above 0 and is at most 500.',
      'In the request, $.model matches ^gpt-.',
      'Requires a call of find_order first with the same $.order_id, in whose result $.open equals true.',
      'Requires at least 2 committed steps first.',
      'Allowed in the phase resolving.',
      'Moves to the phase closed.',
      'After it, issue_refund may not be called.',
      '$.iban comes from what the user wrote, or $.iban of the result of find_order; otherwise a person is asked.',
      '$.order_id equals the value bound as order.',
      'The sum of $.amount in a session is at most 1000.',
      'The number of calls in a session is below 4.',
      '$.amount is at most the value established as paid, give or take 5 %.',
      'Not allowed in a session labelled untrusted.',
      'Labels the session money_moved.',
      'Holds order:{$.order_id} exclusively.',
      'Right before it runs, $.amount is at most 500.',
      'A person is asked if $.amount is above 200: large refund.',
      'Its policy must allow the call.',
      'A token must prove for whom the session acts.',
    ],
  ],
])('%j', (contract, words) => {
  expect(describeContract(contract)).toEqual(words)
})
