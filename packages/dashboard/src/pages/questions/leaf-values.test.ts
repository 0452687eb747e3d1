import { describe, expect, test } from 'vitest'
import { valueAt, withValueAt } from './leaf-values.js'

const CALL = { amount: 900, to: { iban: 'NL91', names: ['a', 'b'] }, 'odd key': null }

describe('the values inside of arguments', () => {
  test('a path to one value is followed, and no other', () => {
    expect(valueAt(CALL, '$.to.names[1]')).toBe('b')
    expect(valueAt(CALL, "$['odd key']")).toBe(null)
    for (const path of ['$.to.names[2]', '$.to.names[*]', '$..iban', '$.amount.x', '$.__proto__', '$.constructor'])
      expect([path, valueAt(CALL, path)]).toEqual([path, undefined])
  })

  test('one value is replaced in a copy', () => {
    expect(withValueAt(CALL, '$.to.names[1]', 'c')).toEqual({ ...CALL, to: { iban: 'NL91', names: ['a', 'c'] } })
    expect(CALL.to.names).toEqual(['a', 'b'])
  })
})
