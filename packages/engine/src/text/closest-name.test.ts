import fc from 'fast-check'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { firstWorkflowProblem, workflowProblems } from '../compile/workflow/workflow-problems.js'
import { closestName, suggestName } from './closest-name.js'

test.each([
  ['lokup', 'lookup'],
  ['lookpu', 'lookup'],
  ['LOOKUP', 'lookup'],
  ['lookup_order', 'lookup_orders'],
  ['pya', 'pay'],
  ['pa', 'pay'],
  ['refund', null],
  ['', null],
])('%s means %s', (written, meant) => {
  expect(closestName(written, ['lookup', 'pay', 'lookup_orders'])).toBe(meant)
})

test('names that nobody could have meant are listed', () => {
  expect(suggestName('refund', ['lookup', 'pay'])).toBe('use one of lookup, pay')
  expect(suggestName('refund', [])).toBe('none is declared')
})

/** By the definition, every place of a table: slow, and without anything to get wrong. */
function distance(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, row) =>
    Array.from({ length: b.length + 1 }, (_, column) => (row === 0 ? column : row)),
  )
  const at = (row: number, column: number) => table[row]?.[column] ?? 0
  for (let row = 1; row <= a.length; row++) {
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const changes = [at(row - 1, column) + 1, at(row, column - 1) + 1, at(row - 1, column - 1) + (isSame ? 0 : 1)]
      if (isSwap) changes.push(at(row - 2, column - 2) + 1)
      table[row]?.splice(column, 1, Math.min(...changes))
    }
  }
  return at(a.length, b.length)
}

test('the closest name is the first of those with the fewest changes', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 0, maxLength: 9 })
  fc.assert(
    fc.property(word, fc.array(word, { maxLength: 6 }), (written, known) => {
      const most = written.length <= 4 ? 1 : Math.min(3, Math.floor(written.length / 3) + 1)
      const distances = known.map((name) => distance(written, name))
      const fewest = Math.min(...distances)
      const expected = fewest > most ? null : known[distances.indexOf(fewest)]
      expect(closestName(written, known)).toBe(expected ?? null)
    }),
    { numRuns: 2_000 },
  )
})

proves('limit.fair.suggestions', () => {
  const named = (letter: string, count: number) =>
    Array.from({ length: count }, (_, at) => `${letter}${at}_`.padEnd(256, letter))
  const handoffs = [{ from: 'a', to: 'b', tools: named('y', 512) }]
  const definition = { roles: { a: {}, b: { tools: named('x', 512) } }, handoffs }
  // Each of these took two seconds.
  expect(
    workflowProblems({ ...definition, handoffs: [{ ...handoffs[0], tools: named('y', 64) } as never] }),
  ).toHaveLength(64)
  // Who needs the first alone does not wait for the others: reading the second tool would throw.
  const tools = new Proxy(named('y', 512), {
    get: (list, at) => {
      if (at === '1') throw new Error('the second tool was looked at')
      return Reflect.get(list, at)
    },
  })
  expect(firstWorkflowProblem({ ...definition, handoffs: [{ from: 'a', to: 'b', tools }] })?.path).toEqual([
    'handoffs',
    0,
    'tools',
  ])
})
