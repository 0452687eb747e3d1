import { describe, expect, test } from 'vitest'
import { fixedStatement, statementByParts } from './fixed-statement.js'
import type { Queryable } from './sql.js'

/** What the driver was asked to run. */
function recorded() {
  const asked: { text: string; values: unknown[] }[] = []
  const sql = { unsafe: (text: string, values: unknown[]) => asked.push({ text, values }) }
  return { sql: sql as unknown as Queryable, asked }
}

describe('a fixed statement', () => {
  test('numbers its values by their first use, and leaves casts to PostgreSQL', () => {
    const { sql, asked } = recorded()
    const statement = fixedStatement('select :first::text, :second::bigint where :first::text is not null')
    statement(sql, { second: 2, first: 'a' })
    expect(asked).toEqual([{ text: 'select $1::text, $2::bigint where $1::text is not null', values: ['a', 2] }])
  })

  test('takes its values from several groups, the first that has one, null included', () => {
    const { sql, asked } = recorded()
    const statement = fixedStatement('select :a::text, :b::text, :c::text')
    statement(sql, { a: '1', b: null }, { b: '2', c: false })
    expect(asked[0]?.values).toEqual(['1', null, false])
  })

  test('names the value that it misses', () => {
    const { sql, asked } = recorded()
    expect(() => fixedStatement('select :a::text, :b::text')(sql, { a: '1' }, {})).toThrow(
      'the statement needs a value for b',
    )
    expect(asked).toEqual([])
  })
})

describe('a statement by parts', () => {
  test('is put together once for each set of parts', () => {
    let made = 0
    const statement = statementByParts<'more'>((has) => {
      made += 1
      return has('more') ? 'select :a::text, :b::text' : 'select :a::text'
    })
    const { sql, asked } = recorded()
    for (const parts of [[], ['more'], [], ['more']] as const) statement(parts)(sql, { a: '1', b: '2' })
    expect(asked.map(({ values }) => values.length)).toEqual([1, 2, 1, 2])
    expect(made).toBe(2)
  })
})
