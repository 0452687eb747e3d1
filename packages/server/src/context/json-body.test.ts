import { measureJson, runToEnd } from '@countersign/engine'
import { LIMITS } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { type BodyLimits, parsedBytes, READ_BESIDE, READ_HERE } from './json-body.js'

const measured = (text: string) => runToEnd(measureJson(Buffer.from(text)))

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

proves('limit.fair.values', 'a number of more than 17 digits counts as ten values', () => {
  expect(measured('[0.12345678901234567,1.5e300,"123456789012345678901"]').values).toBe(4)
  expect(measured('[0.123456789012345678,123456789012345678]').values).toBe(21)
})

proves('limit.fair.names', () => {
  const read = (objects: number, names: number, isSame = false) => {
    const nameAt = (object: number, at: number) => `name_${isSame ? at : object * names + at}`
    const list = Array.from({ length: objects }, (_, object) =>
      Object.fromEntries(Array.from({ length: names }, (_, at) => [nameAt(object, at), at])),
    )
    return runToEnd(parsedBytes(Buffer.from(JSON.stringify({ list })), READ_HERE))
  }
  const refused = 'the request is not valid'
  // Together with the name of the list.
  expect(read(1, LIMITS.bodyNames - 1)).toBeGreaterThan(0)
  expect(() => read(1, LIMITS.bodyNames)).toThrow(refused)
  expect(() => read(1_000, 30)).toThrow(refused)
  expect(read(1_000, 30, true)).toBeGreaterThan(0)
})

proves('limit.fair.values', () => {
  const read = (values: number, most: BodyLimits) =>
    runToEnd(parsedBytes(Buffer.from(JSON.stringify(Array.from({ length: values }, () => 1))), most))
  // Together with the list.
  expect(read(199_999, READ_HERE)).toBeGreaterThan(0)
  expect(() => read(200_000, READ_HERE)).toThrow('the request is not valid')
  expect(read(499_999, READ_BESIDE)).toBeGreaterThan(0)
  expect(() => read(500_000, READ_BESIDE)).toThrow('the request is not valid')
})
