// npm run requirements [-- PREFIX]: the rows of test/requirements.ts that are still missing, and the counts by section.
import type { Fact } from '../test/requirements/fact.js'
import { REQUIREMENTS } from '../test/requirements.js'
import { countBySection } from '../test/support/requirement-counts.js'

const prefix = process.argv[2] ?? ''
const facts: readonly Fact[] = REQUIREMENTS
const missing = facts.filter(({ id, state }) => state === 'missing' && id.startsWith(prefix))
const width = Math.max(0, ...missing.map(({ id }) => id.length))
for (const { id, behaviour } of missing) console.log(`${id.padEnd(width)}  ${behaviour}`)
console.log(`\n${countBySection(REQUIREMENTS).lines.join('\n')}`)
