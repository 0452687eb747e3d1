import fc from 'fast-check'
import { RE2JS } from 're2js'
import { describe, expect, test } from 'vitest'
import { directMatch } from './direct-match.js'

const PLAIN = [
  '^[0-9]+$',
  '^ORD-[0-9]{4,}$',
  '^[A-Z]{2}[A-Z0-9]{3,10}$',
  '^\\d{4}-\\d{2}-\\d{2}$',
  '^[a-z]+\\.[a-z]{2,}$',
  '^\\w+@shop\\.example$',
  '^a?b*c$',
  '^$',
  '^[\\w.-]{1,64}$',
]

const LEFT_TO_RE2 = [
  'b+',
  '^b+',
  'b+$',
  '^a\\$',
  '^(a|b)$',
  '^[^@]+$',
  '^.*$',
  '^a+a$',
  '^a*b?a$',
  '^a{2,3}[a-c]$',
  '^a+?$',
  '^a{2}{3}$',
  '^\\s+$',
  '^\\bword$',
  '^é+$',
  '^[[:alpha:]]+$',
  '^[+--]$',
  '^[a-\\d]$',
  '^(?i)a$',
  '^a|b$',
  '^a{,3}$',
]

const takes = (source: string): boolean => {
  try {
    RE2JS.compile(source)
    return true
  } catch {
    return false
  }
}

describe('directMatch', () => {
  test.each(PLAIN)('walks along the text for %s', (source) => {
    const matches = directMatch(source)
    const compiled = RE2JS.compile(source)
    for (const text of [
      '',
      '0',
      '1017',
      'ORD-1017',
      'ORD-1',
      'AB123',
      '2026-01-01',
      'a.bc',
      'x@shop.example',
      'bbc',
      'é1',
    ])
      expect([source, text, matches?.(text)]).toEqual([source, text, compiled.test(text)])
  })

  test.each(LEFT_TO_RE2)('leaves %s to RE2', (source) => expect(directMatch(source)).toBeNull())

  test('says what RE2 says, for any pattern that it takes', () => {
    const atom = fc.constantFrom('a', 'b', '-', '_', '\\.', '\\d', '\\w', '[ab]', '[a-c]', '[b-]', '[\\d.]', '[0-5_]')
    const count = fc.constantFrom('', '', '*', '+', '?', '{2}', '{0,2}', '{1,}', '{1,3}', '+?', '{2')
    const pattern = fc
      .array(
        fc.tuple(atom, count).map((pair) => pair.join('')),
        { maxLength: 5 },
      )
      .map((parts) => `^${parts.join('')}$`)
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', 'c', '-', '_', '.', '0', '7', '\n', 'é', '😀'),
      maxLength: 8,
    })
    let direct = 0
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 8, maxLength: 8 }), (source, texts) => {
        const matches = takes(source) ? directMatch(source) : null
        if (matches === null) return
        direct++
        const compiled = RE2JS.compile(source)
        for (const one of texts) expect([one, matches(one)]).toEqual([one, compiled.test(one)])
      }),
      { numRuns: 1_500 },
    )
    expect(direct).toBeGreaterThan(300)
  })
})
