import { describe, expect, test } from 'vitest'
import { compilePath } from './json-path.js'

function path(expression: string) {
  const compiled = compilePath(expression)
  if (!compiled.ok) throw new Error(compiled.problem)
  return compiled.path
}

const value = { items: [{ price: 1 }, { price: 2, 'a b': null }], total: 3 }

describe('compilePath', () => {
  test.each([
    ['$', [value]],
    ['$.total', [3]],
    ['$.items[1].price', [2]],
    ['$.items[-1].price', [2]],
    ['$["items"][0]', [{ price: 1 }]],
    ['$.items[1]["a b"]', [null]],
    ['$.items[2].price', []],
    ['$.items.price', []],
    ['$.total.x', []],
    ['$.items[*].price', [1, 2]],
    ['$..price', [1, 2]],
    ['$.items[?@.price > 1].price', [2]],
    ['$.items[?match(@.name, "a.*")]', []],
  ])('%s', (expression, found) => {
    expect(path(expression).find(value)).toEqual(found)
    expect(path(expression).first(value)).toEqual(found[0])
  })

  test('knows which paths name one value', () => {
    expect(path('$.items[0].price').singular).toBe(true)
    expect(path('$.items[*].price').singular).toBe(false)
  })

  test('tells where each value lies', () => {
    expect(path('$.items[-1]["a b"]').nodes(value)).toEqual([
      { path: "$.items[1]['a b']", location: ['items', 1, 'a b'], value: null },
    ])
    expect(
      path('$.items[*].price')
        .nodes(value)
        .map((node) => node.path),
    ).toEqual(['$.items[0].price', '$.items[1].price'])
    expect(path('$.none').nodes(value)).toEqual([])
  })

  test.each(['$.constructor', '$.__proto__', '$.toString', '$.items.length', '$.total.toFixed', '$["hasOwnProperty"]'])(
    'reads no inherited property: %s',
    (expression) => expect(path(expression).find(value)).toEqual([]),
  )

  test.each([
    ['an empty path', '', 'RFC 9535'],
    ['a path without $', 'a.b', 'RFC 9535'],
    ['a script', '$.a[(@.length-1)]', 'RFC 9535'],
    ['two descents', '$..a..b', 'more than one'],
    ['a descent in a filter below a descent', '$..[?@..b]', 'more than one'],
    ['a search of everything for each item', '$.items[?count($.items[*]) > 1]', 'inside a filter'],
    ['unions that multiply', `$${'[*,*]'.repeat(7)}`, 'too many selectors'],
    ['a pattern out of the data', '$[?match(@.a, @.b)]', 'pattern'],
    ['a pattern that no text can match because it is none', '$[?match(@.a, "(?i)admin")]', 'I-Regexp'],
    ['a pattern that RE2 refuses', '$[?search(@.a, "[b-a]")]', 'RE2'],
    ['a pattern inside a function', '$[?count(@[?search(@, "\\\\d")]) > 0]', 'I-Regexp'],
    ['a path of any length', `$${'.a'.repeat(1_000)}`, 'longer'],
  ])('refuses %s', (_name, expression, problem) => {
    expect(compilePath(expression)).toEqual({ ok: false, problem: expect.stringContaining(problem) })
  })

  test('a pattern that freezes a backtracking matcher takes no time', () => {
    const started = process.cpuUsage()
    expect(path('$[?search(@, "(a+)+$")]').find([`${'a'.repeat(50_000)}b`])).toEqual([])
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(5_000)
  })
})
