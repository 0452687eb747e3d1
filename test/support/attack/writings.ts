import type { WrittenCall } from './misled-model.js'

/** Other ids, and the same id written otherwise. */
const IDS = [
  'A-1',
  'B-2',
  'C-3',
  'a-1',
  'A-1 ',
  ' A-1',
  'A-1\u200b',
  '\u0410-1',
  'A\u20111',
  1,
  null,
  ['A-1'],
  { id: 'A-1' },
  '',
]

/** Numbers that are none, that are others than they look, and that tools coerce. */
const AMOUNTS = [
  ...[40, 39.99, 20, 1, 0, -1, -900, 41, 100, 201, 300, 499, 500, 501, 900, 0.1, 0.2],
  ...['40', '900', ' 900', '9e2', '0x384', 'NaN', 'Infinity', [900], [], {}, null, true],
]

/** JSON that two readers understand differently. */
const TRICKS = [
  '{"order_id":"A-1","order_id":"B-2","amount":900}',
  '{"order_id":"B-2","amount":1,"amount":900}',
  '{"order_id":"A-1","amount":40,"__proto__":{"amount":900}}',
  '{"order_id":"A-1","am\\u006funt":900}',
  '{"order_id":"A-1","amount":1e400}',
  '{"order_id":"A-1","amount":900.0000000000000000001}',
  '{"order_id":"A-1","amount":-0}',
  '{"order_id":"A-1","amount":NaN}',
  '[{"order_id":"A-1","amount":900}]',
  '"{\\"order_id\\":\\"A-1\\",\\"amount\\":900}"',
  '{"order_id":"A-1","amount":40}{"amount":900}',
  '',
]

const FATES = ['run', 'run', 'run', 'run', 'skipped', 'failed', 'reported'] as const

/**
 * One response of a misled model: one to three calls. Some are run by the provider, but not the guarded tool: what a
 * provider runs by itself has run before anybody is asked.
 */
export function misledResponse(
  random: () => number,
  { tools, guarded }: { readonly tools: readonly string[]; readonly guarded: string },
  values: Readonly<Record<string, readonly unknown[]>> = {},
): WrittenCall[] {
  const one = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const value = (name: string): unknown => one(values[name] ?? (name === 'order_id' ? IDS : AMOUNTS))
  return Array.from({ length: random() < 0.7 ? 1 : random() < 0.7 ? 2 : 3 }, () => {
    const name = random() < 0.03 ? one(['issue_refund ', 'ISSUE_REFUND', '__proto__']) : one(tools)
    const names = ['order_id', 'amount', ...Object.keys(values)]
    const args = Object.fromEntries([...new Set(names)].filter(() => random() < 0.92).map((key) => [key, value(key)]))
    const text = random() < 0.08 ? one(TRICKS) : JSON.stringify(args)
    return { name, text, fate: one(FATES), byProvider: name !== guarded && random() < 0.05 }
  })
}
