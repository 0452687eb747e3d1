import { expect, test } from 'vitest'
import { measureJson } from './measure-json.js'

const measured = (text: string) => measureJson(Buffer.from(text))

test.each([
  ['{}', 0],
  ['{"a":1}', 1],
  ['[{"a":1,"b":2},{"b":{"a":1,"c":":"}}]', 3],
  ['{"a" : ["a:b","c:"],"b\\"" :"x:y"}', 2],
  ['["a","b"]', 0],
])('%s: its members have %i names', (text, names) => {
  expect(measured(text).names).toBe(names)
})

test.each([
  ['1', 0],
  ['[[],{},[[]]]', 3],
  ['{"a[[":"[[{","b\\"[":[]}', 2],
])('%s: it is %i deep', (text, depth) => {
  expect(measured(text).depth).toBe(depth)
})

test('a number of more than 17 digits counts as ten values', () => {
  expect(measured('[0.12345678901234567,1.5e300,"123456789012345678901"]').values).toBe(4)
  expect(measured('[0.123456789012345678,123456789012345678]').values).toBe(21)
})
