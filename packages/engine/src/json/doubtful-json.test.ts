import { expect, test } from 'vitest'
import { doubtfulJson } from './doubtful-json.js'

test.each([
  '{"a":1.0,"b":1e0,"c":-0.1,"d":0.30000000000000004,"e":1e21,"f":5e-324,"g":-12E+3}',
  '{"__proto__":1,"constructor":[[]],"a":"\\ud83d\\ude00 { [ \\" 1e999"}',
  '[{"a":1},{"a":1}]',
  '"text"',
])('every reader takes %s for the same', (text) => {
  expect(doubtfulJson(text)).toBeNull()
})

test.each([
  ['{"a":1,"\\u0061":2}', 'the key "a" occurs twice'],
  ['[1.00000000000000000001]', 'the number 1.00000000000000000001'],
  ['[1e-999999999]', 'the number 1e-999999999'],
  ['[9007199254740993]', 'the number 9007199254740993'],
  ['[1e400]', 'the number 1e400'],
  ['[1e-400]', 'the number 1e-400'],
  [`[0.${'0'.repeat(1_000)}1]`, 'the number 0.000'],
  ['{"\\udc00":1}', 'half of a surrogate pair'],
  [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'the nesting is deeper'],
])('%.40s is doubtful', (text, problem) => {
  expect(doubtfulJson(text)).toContain(problem)
})
