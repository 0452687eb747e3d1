import { parseStrictJson, readResponse } from '@countersign/engine'
import { expect, test } from 'vitest'
import { describeShared } from '../support/data/describe-shared.js'
import { readSharedJson } from '../support/data/shared-data.js'

interface ParsingCase {
  name: string
  /** The verdict of RFC 8259; `either` leaves it to the parser. */
  expect: 'accept' | 'reject' | 'either'
  base64: string
}

const SUITE = 'conformance/json-parsing/test_parsing.json'

/** Why a text that RFC 8259 allows is no I-JSON, by the words of the refusal. */
const REFUSALS = {
  'duplicate key': /occurs twice in one object/,
  'lone surrogate': /half of a surrogate pair/,
  'integer beyond 2^53 - 1': /2\^53/,
  'number beyond a double': /double/,
  'digits beyond a double': /none that every reader takes for the same/,
  'nesting above 64': /deeper than 64/,
}

describeShared('JSON parsing', SUITE, () => {
  const cases = readSharedJson<ParsingCase[]>(SUITE)
  const textOf = ({ base64 }: ParsingCase): string | null => {
    try {
      // Arguments reach us as text: bytes that are not UTF-8 never become one.
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'))
    } catch {
      return null
    }
  }
  const of = (verdict: ParsingCase['expect']) =>
    cases.filter((each) => each.expect === verdict).map((each) => [each.name, each] as const)

  test('the suite has its 188 invalid texts', () => expect(of('reject')).toHaveLength(188))

  test.each(of('reject'))('invalid: %s is not taken, also not as arguments', (_name, each) => {
    const text = textOf(each)
    if (text === null) return
    expect(parseStrictJson(text).ok).toBe(false)
    if (text === '') return
    const [call] = readResponse({ tool_calls: [{ id: 'c', name: 't', arguments: text }] }).calls
    expect(call).toMatchObject({ arguments: null, problem: expect.any(String) })
  })

  test('a valid text is taken, unless it is no I-JSON', () => {
    const refused = new Map<string, string>()
    for (const [name, each] of of('accept')) {
      const text = textOf(each) ?? ''
      const result = parseStrictJson(text)
      if (result.ok) expect.soft(result.value, name).toEqual(JSON.parse(text))
      else refused.set(name, reasonOf(result.problem))
    }
    // A number such as 123e65 is an integer too, and one that a double cannot hold exactly.
    expect(Object.fromEntries(refused)).toEqual({
      'y_number.json': 'integer beyond 2^53 - 1',
      'y_number_real_capital_e.json': 'integer beyond 2^53 - 1',
      'y_number_real_exponent.json': 'integer beyond 2^53 - 1',
      'y_number_real_fraction_exponent.json': 'integer beyond 2^53 - 1',
      'y_object_duplicated_key.json': 'duplicate key',
      'y_object_duplicated_key_and_value.json': 'duplicate key',
      'y_object_extreme_numbers.json': 'integer beyond 2^53 - 1',
    })
  })

  test('a text left to the parser is taken as JavaScript reads it, or refused by a rule of I-JSON', () => {
    for (const [name, each] of of('either')) {
      const text = textOf(each)
      if (text === null) continue
      const result = parseStrictJson(text)
      if (result.ok) expect.soft(result.value, name).toEqual(JSON.parse(text))
      else expect.soft(reasonOf(result.problem), `${name}: ${result.problem}`).not.toBe('none of ours')
    }
  })
})

function reasonOf(problem: string): string {
  for (const [reason, words] of Object.entries(REFUSALS)) if (words.test(problem)) return reason
  return problem === 'the text is not JSON' ? 'not JSON' : 'none of ours'
}
