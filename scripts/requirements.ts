// npm run requirements [-- PREFIX]: what the service must do, row by row, with the test files that prove it.
import { REQUIREMENTS } from '../test/requirements.js'
import { readCitations } from '../test/support/files/citations.js'

const prefix = process.argv[2] ?? ''
const citations = [...readCitations()]
const rows = REQUIREMENTS.filter(({ id }) => id.startsWith(prefix))
for (const { id, behaviour } of rows) {
  const files = citations.filter(([, ids]) => ids.has(id)).map(([file]) => file)
  console.log(`${id}\n  ${behaviour}\n  ${files.join(', ')}`)
}
console.log(`\n${rows.length} requirements`)
