import { runToEnd } from '@countersign/engine'
import { LIMITS } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { parsedBytes } from './json-body.js'
import { measureJson } from './measure-json.js'

const measured = (text: string) => runToEnd(measureJson(Buffer.from(text)))

test.each([
  ['{}', 0],
  ['{"a":1}', 1],
  ['[{"a":1,"b":2},{"c":{"d":1,"e":2,"f":3}}]', 3],
  ['{"a":[1,2,3,4],"b":"x:y:z","c":":\\"::"}', 3],
  [`${'['.repeat(80)}{"a":1,"b":2}${']'.repeat(80)}`, 1],
  [']]]{"a":1,"b":2}', 2],
])('%s: the object with most members has %i', (text, members) => {
  expect(measured(text).members).toBe(members)
})

proves('limit.fair.members', () => {
  const bodyOf = (members: number) =>
    Buffer.from(
      JSON.stringify({
        response: Object.fromEntries(Array.from({ length: members }, (_, at) => [`member_${at}`, at])),
      }),
    )
  const read = (members: number) => runToEnd(parsedBytes(bodyOf(members), LIMITS.objectMembers))
  expect(read(LIMITS.objectMembers)).toBeGreaterThan(0)
  expect(() => read(LIMITS.objectMembers + 1)).toThrow('the request is not valid')
})
