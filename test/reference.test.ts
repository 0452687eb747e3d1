import { readFileSync } from 'node:fs'
import { FILE_NAMES, fileSchema } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { withMemberDocs } from '../scripts/reference/documented-interface.js'
import { generatedFiles } from '../scripts/reference/generated-files.js'
import { nestedKeys, unusedMeanings } from '../scripts/reference/language-keys.js'
import { NESTED_KEY_MEANINGS } from '../scripts/reference/nested-key-meanings.js'
import { proves } from './support/proves.js'

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

/** Every key that a schema names, at any depth. */
function keysIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties } = schema as { properties?: object }
  return [...Object.keys(properties ?? {}), ...Object.values(schema).flatMap(keysIn)]
}

proves('contract.reference-complete', 'every key of the schemas stands on the page, with values and defaults', () => {
  const page = readFileSync('docs/reference/contract-language.md', 'utf8')
  const keys = FILE_NAMES.flatMap((name) => keysIn(fileSchema(name)))
  expect(keys.length).toBeGreaterThan(150)
  expect(keys.filter((key) => !page.includes(`${key}\` |`))).toEqual([])
  expect(page).toContain('| `on_timeout` | `deny`, `allow` | `deny` |')
  expect(page).toContain('| `tolerance_percent` | number, at least 0, at most 100 | `0` |')
})

proves('contract.reference-complete', 'a key without a meaning is refused, and so is a meaning without a key', () => {
  const { 'checkpoint.on_timeout': _, ...others } = NESTED_KEY_MEANINGS
  expect(() => nestedKeys('contract', others)).toThrow('what checkpoint.on_timeout of contract means')
  expect(unusedMeanings()).toEqual([])
})
