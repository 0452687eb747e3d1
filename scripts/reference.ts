// npm run docs: writes docs/reference from the tables of the protocol. test/reference.test.ts fails when they differ.
import { mkdirSync, writeFileSync } from 'node:fs'
import { referencePages } from './reference-pages.js'

const folder = new URL('../docs/reference/', import.meta.url)
mkdirSync(folder, { recursive: true })
for (const [file, text] of referencePages()) {
  writeFileSync(new URL(file, folder), text)
  console.log(`docs/reference/${file}`)
}
