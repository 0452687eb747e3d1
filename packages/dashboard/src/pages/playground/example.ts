/** The initial example: one call that is allowed, one that is blocked. */
export const EXAMPLE = {
  contracts: `tool: issue_refund
side_effect: financial
gate: allow
arguments:
  type: object
  required: [order_id, amount]
  properties:
    order_id: { type: string }
    amount: { type: number }
argument_value_invariants:
  - { path: $.amount, gt: 0, lte: 500 }
---
tool: lookup_order
side_effect: read
`,
  response: JSON.stringify(
    {
      tool_calls: [
        { id: 'call_1', name: 'lookup_order', arguments: '{"order_id":"A-1042"}' },
        { id: 'call_2', name: 'issue_refund', arguments: '{"order_id":"A-1042","amount":900}' },
      ],
    },
    null,
    2,
  ),
}
