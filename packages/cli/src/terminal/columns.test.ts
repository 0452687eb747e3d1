import { expect, test } from 'vitest'
import { columns } from './columns.js'

test('columns are aligned, and a row stays one line', () => {
  expect(
    columns([
      ['a', 'one\nkey', 'x'],
      ['abc', '2', ''],
    ]),
  ).toEqual(['a    one key  x', 'abc  2'])
})

test('no rows give no lines', () => {
  expect(columns([])).toEqual([])
})
