import { describe, expect, test } from 'vitest'
import { changesBetween, valueAt, withValueAt } from './leaf-values.js'

const CALL = { amount: 900, to: { iban: 'NL91', names: ['a', 'b'] }, 'odd key': null, empty: {} }

describe('the values inside of arguments', () => {
  test('what differs is found down to single values, whatever is new or missing', () => {
    const now = { amount: '900', to: { iban: 'NL91', names: ['a'] }, 'odd key': null, empty: [], more: true }
    expect(changesBetween(CALL, now)).toEqual({
      changes: [
        { path: '$.amount', before: 900, now: '900' },
        { path: '$.empty', before: {}, now: [] },
        { path: '$.more', before: undefined, now: true },
        { path: '$.to.names[1]', before: 'b', now: undefined },
      ],
      same: 3,
    })
    expect(changesBetween(CALL, CALL)).toEqual({ changes: [], same: 6 })
  })

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
