import { expect, test } from 'vitest'
import { columns } from './columns.js'

test('cells stand below each other, and a row stays one line', () => {
  expect(
    columns([
      ['a', 'one\nkey', 'x'],
      ['abc', '2', ''],
    ]),
  ).toEqual(['a    one key  x', 'abc  2'])
})

test('of nothing there are no lines', () => {
  expect(columns([])).toEqual([])
})
