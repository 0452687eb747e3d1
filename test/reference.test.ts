import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withMemberDocs } from '../scripts/reference/documented-interface.js'
import { generatedFiles } from '../scripts/reference/generated-files.js'

for (const [file, text] of generatedFiles()) {
  test(`${file} is what the tables say (npm run docs writes it)`, () => {
    expect(readFileSync(file, 'utf8')).toBe(text)
  })
}

const SOURCE = `export interface Other {
  a?: string
}

export interface Options<T = { a: T }> {
  /** Out of date. */
  a?: string
  readonly b: (a: string) => void
}
`

test('a member gets the TSDoc of its row in place of the one it had', () => {
  const docs = new Map([
    ['a', ['What it does.', '- `x`: one value', "@defaultValue `'x'`"]],
    ['b', ['Called.']],
  ])
  const documented = withMemberDocs(SOURCE, 'Options', docs)
  expect(documented).toBe(`export interface Other {
  a?: string
}

export interface Options<T = { a: T }> {
  /**
   * What it does.
   * - \`x\`: one value
   * @defaultValue \`'x'\`
   */
  a?: string
  /** Called. */
  readonly b: (a: string) => void
}
`)
  expect(withMemberDocs(documented, 'Options', docs)).toBe(documented)
})

test('a member without a row is refused', () => {
  expect(() => withMemberDocs(SOURCE, 'Options', new Map([['a', ['What it does.']]]))).toThrow('Options.b')
})
