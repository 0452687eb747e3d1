import { LIMITS } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { holdsCallShape } from './odd-shapes.js'
import { readResponse } from './read-response.js'

/** The arguments as each format writes them: as text, or as the value that a client has parsed. */
const FORMATS: Readonly<Record<string, (text: string) => object>> = {
  chat: (text) => ({
    choices: [{ message: { tool_calls: [{ id: 'c', function: { name: 't', arguments: text } }] } }],
  }),
  legacy: (text) => ({ choices: [{ message: { function_call: { name: 't', arguments: text } } }] }),
  responses: (text) => ({ output: [{ type: 'function_call', call_id: 'c', name: 't', arguments: text }] }),
  builtin: (text) => ({ output: [{ type: 'shell_call', call_id: 'c', action: JSON.parse(text) }] }),
  anthropic: (text) => ({ content: [{ type: 'tool_use', id: 'c', name: 't', input: JSON.parse(text) }] }),
  normalized: (text) => ({ tool_calls: [{ id: 'c', name: 't', arguments: text }] }),
}
const ofText = ['chat', 'legacy', 'responses', 'normalized']

const problemOf = (format: string, text: string) => readResponse(FORMATS[format]?.(text)).calls[0]?.problem

proves('guarantee.one-reading', 'names that some reader takes for one are refused, in every format', () => {
  const alike = [
    ['amount', 'Amount'],
    ['amount', 'AMOUNT'],
    ['amount', 'amo\u200bunt'],
    ['amount', 'a\u00admount'],
    ['amount', '\u202eamount'],
    ['amount', 'amount\u180e'],
    ['amount', 'amount\ufe0f'],
    ['amount', 'amount\u3164'],
    ['amount', 'amount\t'],
    ['amount', ' amount'],
    ['amount', '\uff41mount'],
    ['kelvin', '\u212aelvin'],
    ['size', '\u017fize'],
    ['straße', 'STRAßE'],
    ['café', 'cafe\u0301'],
    ['ΣΑΣ', 'σας'],
  ] as const
  for (const format of Object.keys(FORMATS)) {
    for (const [one, other] of alike) {
      const problem = problemOf(format, JSON.stringify({ x: [{ [one]: 10, y: 1, [other]: 900 }] }))
      expect([format, other, problem]).toEqual([format, other, expect.stringMatching(/the names .* remove one/)])
      expect(problem).not.toMatch(/[\p{Cf}\p{Cc}]/u)
    }
    for (const args of [
      { A: { a: 1 }, b: { a: 1 } },
      { total: 1, amount: 2, Other: 3 },
      { straße: 1, strase: 2 },
      { Maße: 1, Masse: 2 },
      { m2: 1, 'm²': 2 },
    ])
      expect([format, problemOf(format, JSON.stringify(args))]).toEqual([format, null])
  }
})

proves('guarantee.one-reading', 'a member that stands twice and digits beyond doubles are refused', () => {
  const refused = [
    ['{"a":1,"a":900}', 'occurs twice'],
    ['{"x":[{"a":1,"\\u0061":1}]}', 'occurs twice'],
    ['{"a":40.000000000000000000001}', 'has more digits than a double can hold: round it'],
    ['{"a":[0.1000000000000000055511151231257827]}', 'more digits'],
    ['{"a":1e-400}', 'the number 1e-400 is too small for a double'],
    ['{"a":9007199254740993}', '2^53'],
    ['{"a":1e400}', 'double'],
  ] as const
  for (const format of ofText) {
    for (const [text, problem] of refused)
      expect([text, problemOf(format, text)]).toEqual([text, expect.stringContaining(problem)])
    expect(
      problemOf(
        format,
        '{"a":[40.0,4e1,0.40E2,1.50,-0,0.30000000000000004,1.5e-8,123456.789012345,0.10000000000000001,-52.520006599999997,5e-324]}',
      ),
    ).toBeNull()
  }
})

test('names take linear time, whatever they are of', () => {
  const marks = `${'\u0301'.repeat(2)}${'\u0323'.repeat(2)}`
  const shapes: readonly ((at: number) => string)[] = [
    (at) => `aA${at}`,
    (at) => `${'\u00e9'}${at}`,
    (at) => `a${marks}${at}`,
    (at) => `${'\ufdfa'.repeat(40)}${at}`,
  ]
  const many = shapes.map((nameAt) => {
    const members = [`"${nameAt(0)}":1`]
    for (let bytes = 0; bytes < LIMITS.argumentBytesPerCall - 300; ) {
      const member = `"${nameAt(members.length)}":1`
      bytes += Buffer.byteLength(member) + 1
      members.push(member)
    }
    return `{${members.join(',')}}`
  })
  const long = ['\u0301\u0323'.repeat(30_000), '\u200b'.repeat(40_000), '\ufdfa'.repeat(40_000)]
  const started = process.cpuUsage()
  for (const text of many) expect(problemOf('chat', text)).toBeNull()
  expect(problemOf('chat', JSON.stringify({ [`a${long[0]}`]: 1, b: 2 }))).toContain('combining marks')
  for (const name of long.slice(1)) expect(problemOf('chat', JSON.stringify({ [name]: 1, b: 2 }))).toBeNull()
  expect(process.cpuUsage(started).user / 1_000).toBeLessThan(2_000)
})

proves(
  'guarantee.known-shapes',
  'an error that quotes a request passes, and one in the shape of an answer does not',
  () => {
    const tool_calls = [{ id: 'c', function: { name: 't', arguments: '{}' } }]
    const quoted = { role: 'assistant', tool_calls }
    for (const error of [
      { Message: 'Forbidden' },
      { Type: 'x', error: { message: 'no', Name: 'n', input: 'i' } },
      { detail: [{ loc: ['body'], msg: 'bad', input: { messages: [quoted] } }] },
    ])
      expect(holdsCallShape(error)).toBe(false)
    for (const root of ['choices', 'Choices', 'CONTENT'])
      expect(holdsCallShape({ error: 'no', [root]: [{ message: quoted }] })).toBe(true)
    expect(holdsCallShape({ Tool_Calls: tool_calls })).toBe(true)
  },
)
