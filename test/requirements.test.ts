import { describe, expect, test } from 'vitest'
import { REQUIREMENTS, type Requirement } from './requirements.js'
import { citedIds, readCitations } from './support/files/citations.js'

const cited = readCitations()

describe('the requirements', () => {
  test('have ids that never repeat and read as dotted words', () => {
    expect(repeated(REQUIREMENTS)).toEqual([])
    expect(REQUIREMENTS.filter(({ id }) => !/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(id))).toEqual([])
  })

  test('are each cited by a test', () => {
    expect(uncited(REQUIREMENTS, cited)).toEqual([])
  })

  test('are the only ids that tests cite', () => {
    expect(unknown(REQUIREMENTS, cited)).toEqual([])
  })
})

describe('the check of the requirements', () => {
  const row = (id: string): Requirement => ({ id, section: 's', behaviour: 'b' })
  const rows = ['a.one', 'a.two', 'a.three', 'a.one'].map(row)
  const ids = new Set(rows.map(({ id }) => id))
  const citedBy = (source: string) => new Map([['x.test.ts', citedIds(source, ids)]])

  test('finds a repeated id', () => {
    expect(repeated(rows)).toEqual(['a.one'])
  })

  test('finds a row without a citation', () => {
    expect(uncited(rows, citedBy("proves(['a.one', 'a.three'], () => {})"))).toEqual(['a.two'])
  })

  test('finds a citation of no row', () => {
    expect(unknown(rows, citedBy("proves('a.four', () => {})"))).toEqual(['a.four: cited by x.test.ts'])
  })

  test.each([
    ['one id', "proves('a.one', fn)", ['a.one']],
    ['one id on the next line', "proves(\n  'a.one',\n  fn)", ['a.one']],
    ['several ids', "proves(['a.one', \"a.two\"], 'a.three', fn)", ['a.one', 'a.two']],
    ['a variant by name', "provesLive('a.one', fn)", ['a.one']],
    ['rows in a loop', "for (const [id] of [['a.one'], ['x'], ['a.two']]) proves(id, fn)", ['a.one', 'a.two']],
    ['a spread', "const more = ['a.one']; proves(['a.two', ...more], fn)", ['a.one', 'a.two']],
    ['a comment', "// proves('a.one', fn)\n/* proves('a.two', fn) */", []],
    ['a string', "test('proves(\\'a.one\\')', fn)", []],
    ['an id that no call cites', "const id = 'a.one'; test(id, fn)", []],
    ['the maker of variants', "const cite = provesWith(base); const id = 'a.one'", []],
    ['a template', `\`\${proves('a.one', fn)} proves('a.two')\``, ['a.one']],
  ])('reads %s', (_, source, expected) => {
    expect([...citedIds(source, ids)]).toEqual(expected)
  })
})

type Cited = ReadonlyMap<string, ReadonlySet<string>>

function repeated(rows: readonly Requirement[]): string[] {
  const seen = new Set<string>()
  return rows.map(({ id }) => id).filter((id) => seen.has(id) || !seen.add(id))
}

function uncited(rows: readonly Requirement[], cited: Cited): string[] {
  const all = new Set([...cited.values()].flatMap((ids) => [...ids]))
  return rows.filter(({ id }) => !all.has(id)).map(({ id }) => id)
}

function unknown(rows: readonly Requirement[], cited: Cited): string[] {
  const ids = new Set(rows.map(({ id }) => id))
  return [...cited].flatMap(([file, named]) =>
    [...named].filter((id) => !ids.has(id)).map((id) => `${id}: cited by ${file}`),
  )
}
