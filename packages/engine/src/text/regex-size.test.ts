import fc from 'fast-check'
import { RE2JS } from 're2js'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { compileRegex } from './regex.js'
import { leastSize, RANGES_OF_PROPERTY } from './regex-size.js'

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
  ['\\pL{4}', 4],
  ['\\x{41}{3}', 3],
  ['\\{9}', 3],
  ['a|b*c+', 3],
  ['a{,9}', 5],
  ['a{0}b', 1],
  ['\\Q[\\Ea{9}', 10],
  ['\\Qa{9}\\E{2}b', 6],
  ['\\Q(a[', 3],
  ['a\\Q\\E{5}', 5],
  ['\\Qab', 2],
  ['a{9}(?-i){20}', 180],
])('%s has at least %i instructions', (source, size) => {
  expect(leastSize(source).instructions).toBe(size)
  expect(RE2JS.compile(source).programSize()).toBeGreaterThanOrEqual(size)
})

/** All that a pattern is made of, whole and in halves. */
const PARTS = [
  ...[
    'a',
    'x{0,7}',
    '{9}',
    '{20}',
    '{0,30}',
    '{3,}',
    '{,9}',
    '{',
    '}',
    '*',
    '+',
    '?',
    '|',
    '.',
    '-',
    ' ',
    '&&',
    '^',
    '$',
  ],
  ...['[', '[^', ']', '[a-z]', '[]a]', '[:alpha:]', '[[:^alpha:]]', '\\]', '\\[', '\\Q', '\\E', '\\Q\\E', '\\'],
  ...['(', ')', '(?:', '(?', '(?i)', '(?-i)', '(?s)', '(?U:', '(?P<n>', '(?<m>'],
  ...[
    '\\pL',
    '\\PN',
    '\\p',
    '\\p{L}',
    '\\P{^Lu}',
    '\\x{41}',
    '\\x41',
    '\\101',
    '\\C',
    '\\d',
    '\\D',
    '\\b',
    '\\A',
    '\\z',
    '\\n',
  ],
]

/** The ranges of characters of each instruction, as RE2 compiled them. */
function rangesInRe2(pattern: string): number[] {
  const { re2Input } = RE2JS.compile(pattern) as unknown as { re2Input: { prog: { inst: { runes?: number[] }[] } } }
  return re2Input.prog.inst.map(({ runes }) => (runes?.length ?? 0) / 2)
}

proves('limit.regex-size', 'no pattern compiles to much more than was estimated', () => {
  const pattern = fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 12 }).map((parts) => parts.join(''))
  const property = fc.property(pattern, (source) => {
    const { instructions, ranges } = leastSize(source)
    if (instructions > 5_000) return
    let real: readonly number[]
    try {
      real = rangesInRe2(source)
    } catch {
      return
    }
    expect(real.length).toBeLessThanOrEqual(3 * instructions + 10)
    expect(real.reduce((all, of) => all + of, 0)).toBeLessThanOrEqual(3 * ranges + 10)
  })
  fc.assert(property, { numRuns: 20_000 })
})

test('a property has as many ranges as RE2 gives it', () => {
  const most = (pattern: string) => Math.max(...rangesInRe2(pattern))
  for (const [name, ranges] of RANGES_OF_PROPERTY) {
    expect([name, most(`[\\p{${name}}]`)]).toEqual([name, ranges - 1])
    expect(most(`[\\P{${name}}]`)).toBeLessThanOrEqual(ranges)
    expect(leastSize(`[\\p{${name}}]`).ranges - `[\\p{${name}}]`.length).toBe(ranges)
  }
  expect(leastSize('\\pL{2}').ranges).toBe(2 * (685 + '\\pL'.length))
  for (const name of ['C', 'Lo', 'Mn', 'Mc', 'Po', 'So', 'Arabic', 'Common'])
    expect(most(`[\\p{${name}}]`)).toBeLessThan(leastSize(`\\p{${name}}`).ranges)
})

proves('limit.regex-size', 'names and texts of any language may be as long as people write them', () => {
  for (const source of [
    "^[\\p{L}\\p{N} .,'-]{1,1000}$",
    '^[\\p{L}\\p{M}\\p{N}]{1,500}$',
    '^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{Zs}]{1,300}$',
    '^[\\p{L}\\p{N}\\p{P}\\p{S}\\s]{1,500}$',
  ])
    expect(compileRegex(source)).toMatchObject({ ok: true })
})

/** Every second character, so that none joins the next. */
const MANY_RANGES = Array.from({ length: 3_880 }, (_, at) => String.fromCharCode(0x4e00 + at * 2)).join('')

proves(
  'limit.regex-size',
  'a short pattern that would compile to a large program is refused before it is compiled',
  () => {
    const started = process.cpuUsage()
    for (const source of [
      'a{1000}'.repeat(580),
      '((a{30}){30})'.repeat(300),
      '(?:x{999}|y{999}){1}'.repeat(200),
      '(){0,1000}'.repeat(340),
      '(?:){1000}'.repeat(400),
      '(|||){900}'.repeat(300),
      `\\Q[\\E${'x{0,1000}'.repeat(440)}`,
      '\\pL{1000}\\pL{1000}\\pL{400}',
      `[${MANY_RANGES}]{1000}[\\p{Ll}\\p{M}\\p{N}\\p{S}\\p{P}]{1000}`,
    ]) {
      expect(compileRegex(source)).toEqual({ ok: false, problem: expect.stringContaining('too large') })
    }
    expect(process.cpuUsage(started).user).toBeLessThan(500_000)
  },
)
