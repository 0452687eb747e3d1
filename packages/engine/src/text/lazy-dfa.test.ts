import fc from 'fast-check'
import { RE2JS } from 're2js'
import { expect, test } from 'vitest'
import { lazyDfa } from './lazy-dfa.js'

test.each(['^ORD-[0-9]{4,}$', '^[^@]+$', 'b+', '^a+?$', '\\bword\\b', '^[\\w.-]{1,64}$', '(?i)é|x$', '^$', 'a.c'])(
  'says what RE2 says of %s, also of a text after another',
  (source) => {
    const compiled = RE2JS.compile(source)
    const finds = lazyDfa(compiled)
    for (const text of ['', 'ORD-1017', 'ORD-1', 'bbc', 'a word.', 'sword', 'É', 'a@b', 'a\nc', 'a😀c', 'x'.repeat(65)])
      expect([text, finds(text)]).toEqual([text, compiled.test(text)])
  },
)

test('says what RE2 says, for any pattern that it takes', () => {
  const atom = fc.constantFrom('a', 'b', '-', '_', '\\.', '\\d', '\\w', '[ab]', '[a-c]', '[^b-]', '(a|b_)', '.', '\\b')
  const count = fc.constantFrom('', '', '*', '+', '?', '{2}', '{0,2}', '{1,}', '{1,3}', '+?')
  const pattern = fc
    .array(
      fc.tuple(atom, count).map((pair) => pair.join('')),
      { maxLength: 5 },
    )
    .map((parts) => parts.join(''))
  const around = fc.constantFrom(['', ''], ['^', ''], ['', '$'], ['^', '$'])
  const unit = fc.constantFrom('a', 'b', 'c', '-', '_', '.', '0', '7', '\n', 'é', '😀')
  const texts = fc.array(fc.string({ unit, maxLength: 8 }), { minLength: 8, maxLength: 8 })
  fc.assert(
    fc.property(pattern, around, texts, (inner, [before, after], given) => {
      const compiled = RE2JS.compile(`${before}${inner}${after}`)
      const finds = lazyDfa(compiled)
      for (const text of given) expect([text, finds(text)]).toEqual([text, compiled.test(text)])
    }),
    { numRuns: 1_000 },
  )
})
