import type { CardEdit, JsonObject } from '@countersign/protocol'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { editProblem } from './edit-problem.js'

const ASKED: JsonObject = {
  amount: 900,
  to: ['ann', 'bob', 'ann'],
  currency: 'EUR',
  items: [{ price: 5 }, { price: 7 }],
  limits: { day: 3 },
}
const EDITS: CardEdit[] = [
  { path: '$.amount', to: 'lower' },
  { path: '$.to', to: 'fewer' },
  { path: '$.currency', to: 'one_of', values: ['EUR', 'CHF', 2] },
  { path: '$.items[1].price', to: 'lower' },
  { path: "$.limits['day']", to: 'lower' },
  { path: '$.absent', to: 'lower' },
]
const problem = (changes: JsonObject, edit = EDITS) => editProblem({ arguments: ASKED, edit }, { ...ASKED, ...changes })

proves('question.edited', 'an edit lowers, leaves out, or picks from the list, and touches nothing else', () => {
  for (const changes of [
    { amount: 899.99 },
    { amount: -1 },
    { to: ['bob'] },
    { to: ['ann', 'ann'] },
    { currency: 'CHF' },
    { currency: 2 },
    { items: [{ price: 5 }, { price: 6 }] },
    { limits: { day: 2 } },
    { amount: 1, to: ['ann'], currency: 'CHF' },
  ]) {
    expect([changes, problem(changes)]).toEqual([changes, null])
  }
  const refused: [JsonObject, RegExp][] = [
    [{}, /^nothing is changed$/],
    [{ amount: 901 }, /^\$\.amount may only be lower than 900$/],
    [{ amount: '400' }, /must be a number/],
    [{ to: [] }, /must keep at least one/],
    [{ to: ['bob', 'ann', 'ann'] }, /may only lose elements/],
    [{ to: ['ann', 'eve'] }, /may only lose elements/],
    [{ to: 'ann' }, /must be a list/],
    [{ currency: 'USD' }, /one of the values/],
    [{ items: [{ price: 4 }, { price: 6 }] }, /^only \$\.amount, .* may be changed$/],
    [{ items: [{ price: 5 }] }, /may be changed$/],
    [{ limits: { day: 2, week: 9 } }, /may be changed$/],
    [{ absent: 1 }, /may be changed$/],
    [{ amount: 400, note: 'x' }, /may be changed$/],
  ]
  for (const [changes, words] of refused)
    expect([changes, problem(changes)]).toEqual([changes, expect.stringMatching(words)])
  const { amount, ...without } = ASKED
  expect(amount).toBe(900)
  expect(editProblem({ arguments: ASKED, edit: EDITS }, without)).toMatch(/may be changed$/)
  expect(problem({ amount: 400 }, [])).toBe('no argument may be changed')
})
