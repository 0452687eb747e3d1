/** How to fix what more than one check can find. A fix that depends on the case is written beside its check. */
export const FIXES = {
  path: 'write an RFC 9535 path such as $.order.id or $.items[*].price',
  singular_path: 'use names and indices only, such as $.items[0].id',
  source_path: 'use names, indices and *, such as $.message.to[*]',
  resource_key: 'write paths in braces, such as "order:{$.order_id}"',
  regex: 'use RE2 syntax: no lookaround, no backreferences, bounded repeats',
  schema: 'use JSON Schema 2020-12 with RE2 patterns and no remote references',
  operand: 'correct the operand',
  value: 'correct the value',
  repeated: 'remove one of them',
  one_contract_per_tool: 'keep one contract per tool',
  quotes: 'put the path into quotes, such as "$.items[*].price"',
  syntax: 'correct the YAML or JSON syntax here',
} as const

export function fixForOperand(operator: string): string {
  if (operator === 'schema') return FIXES.schema
  return operator === 'regex' || operator === 'not_regex' ? FIXES.regex : FIXES.operand
}
