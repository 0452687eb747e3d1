import { describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { compileRegex } from './regex.js'

function regex(source: string): (text: string) => boolean {
  const compiled = compileRegex(source)
  if (!compiled.ok) throw new Error(compiled.problem)
  return compiled.test
}

describe('compileRegex', () => {
  test('searches, unless the pattern is anchored', () => {
    expect(regex('b+')('abc')).toBe(true)
    expect(regex('^b+$')('abc')).toBe(false)
    expect(regex('^b+$')('bbb')).toBe(true)
    expect(regex('^b+$')('bbb\n')).toBe(false)
  })

  test('folds no case and no look-alikes', () => {
    expect(regex('^k$')('K')).toBe(false)
    expect(regex('^k$')('\u212a')).toBe(false)
    expect(regex('^\\w$')('\u017f')).toBe(false)
  })

  test('counts code points', () => expect(regex('^.$')('😀')).toBe(true))

  test.each(['(?=a)', '(a)\\1', '(?<!a)b', '[', 'a{99999}', '((a{99}){99}){99}', 'x'.repeat(5_000)])(
    'refuses what is not linear, not a pattern or too large: %.20s',
    (source) => expect(compileRegex(source)).toEqual({ ok: false, problem: expect.any(String) }),
  )

  test('refuses repeat counts strung together', () => {
    expect(compileRegex('[ab]{900}'.repeat(20)).ok).toBe(false)
  })

  proves('limit.regex-properties', 'refuses more than 100 Unicode properties, at once', () => {
    expect(compileRegex(`[${'\\p{L}'.repeat(100)}]`).ok).toBe(true)
    const started = process.cpuUsage()
    expect(compileRegex(`(?i)[${'\\pL\\P{Lu}'.repeat(400)}]`)).toEqual({
      ok: false,
      problem: 'the regular expression has 800 Unicode properties such as \\p{L}, and may have 100',
    })
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(50)
  })

  proves('limit.regex-properties', 'and more than 10 ranges beyond ASCII that ignore case', () => {
    const ranges = (many: number) =>
      Array.from({ length: many }, (_, at) => `${String.fromCharCode(66 + at)}-\u{1e920}`)
    expect(compileRegex(`(?i)[${ranges(10).join('')}]`).ok).toBe(true)
    expect(compileRegex(`[${ranges(11).join('')}]`).ok).toBe(true)
    for (const flags of ['(?i)', '(?si)', '(?P<a>b)(?i:c)'])
      expect(compileRegex(`${flags}[${ranges(11).join('')}]`)).toEqual({
        ok: false,
        problem: 'the regular expression has 11 ranges such as à-ÿ that ignore case, and may have 10',
      })
    expect(compileRegex(`(?i)[${'A-\\x{1e920}'.repeat(11)}]`).ok).toBe(false)
    // A hyphen before digits is no range.
    expect(compileRegex(`(?i)ord${'-\\d'.repeat(30)}`).ok).toBe(true)
  })

  test('a pattern that freezes a backtracking matcher takes no time', () => {
    const started = process.cpuUsage()
    expect(regex('^(a+)+$')(`${'a'.repeat(100_000)}b`)).toBe(false)
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(5_000)
  })
})
