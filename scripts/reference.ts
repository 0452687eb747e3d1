// npm run docs: writes what test/reference.test.ts expects: docs/reference, and TSDoc that comes from tables.
import { writeFileSync } from 'node:fs'
import { generatedFiles } from './reference/generated-files.js'

for (const [file, text] of generatedFiles()) {
  writeFileSync(file, text)
  console.log(file)
}
