import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { referencePages } from '../scripts/reference-pages.js'

for (const [file, text] of referencePages()) {
  test(`docs/reference/${file} is what the tables say (npm run docs writes it)`, () => {
    expect(readFileSync(new URL(`../docs/reference/${file}`, import.meta.url), 'utf8')).toBe(text)
  })
}
