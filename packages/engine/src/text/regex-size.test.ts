import { RE2JS } from 're2js'
import { expect, test } from 'vitest'
import { compileRegex } from './regex.js'
import { leastProgramSize } from './regex-size.js'

test.each([
  ['abc', 3],
  ['a{3}', 3],
  ['a{2,5}b', 6],
  ['(?:ab){10}', 20],
  ['(?P<name>ab){10}', 40],
  ['(){10}', 20],
  ['(?i)ab(?i:c){3}', 5],
  ['((a{10}){10}){2}', 244],
  ['(?:ab(c)){10}', 50],
  ['[a{9}]{2}', 2],
  ['[]{9}]', 1],
  ['[[:alpha:]{9}]', 1],
  ['\\p{L}{4}', 4],
  ['\\x{41}{3}', 3],
  ['\\{9}', 3],
  ['a|b*c+', 3],
  ['a{,9}', 5],
  ['a{0}b', 1],
])('%s has at least %i instructions', (source, size) => {
  expect(leastProgramSize(source)).toBe(size)
  expect(RE2JS.compile(source).programSize()).toBeGreaterThanOrEqual(size)
})

test('a short pattern that would compile to a large program is refused before it is compiled', () => {
  const started = process.cpuUsage()
  for (const source of [
    'a{1000}'.repeat(580),
    '((a{30}){30})'.repeat(300),
    '(?:x{999}|y{999}){1}'.repeat(200),
    '(){0,1000}'.repeat(340),
    '(?:){1000}'.repeat(400),
    '(|||){900}'.repeat(300),
  ]) {
    expect(compileRegex(source)).toEqual({ ok: false, problem: expect.stringContaining('too large') })
  }
  expect(process.cpuUsage(started).user).toBeLessThan(500_000)
})
