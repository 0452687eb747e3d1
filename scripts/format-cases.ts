// Part of `npm run fix`: writes the files of test/cases the way they should look.
import { readFileSync, writeFileSync } from 'node:fs'
import { caseFiles } from '../test/support/cases/cases.js'
import { formatCaseFile } from '../test/support/cases/format-case-file.js'

for (const file of caseFiles()) writeFileSync(file, formatCaseFile(readFileSync(file, 'utf8')))
