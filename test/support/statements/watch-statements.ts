import pg from 'pg'
import { afterAll, inject } from 'vitest'
import { acrossTenants } from '../../../packages/server/src/store/across-tenants.js'
import { lintStatement } from './lint-statement.js'

/**
 * Reads every statement that the service sends in a test: each names its tenant, and none is of a kind that a divided
 * PostgreSQL refuses. Statements of the tests themselves go over connections without the service's names.
 */
const OF_THE_SERVICE = /^countersign (?:entrance|reading|work|operator)$/

interface Watched {
  readonly seen: Set<string>
  unread: string[]
}
const holder = globalThis as typeof globalThis & { countersignStatements?: Watched }

/** A worker keeps its modules for the next file, and the driver with them. */
function watch(): Watched {
  if (holder.countersignStatements !== undefined) return holder.countersignStatements
  const watched: Watched = { seen: new Set(), unread: [] }
  holder.countersignStatements = watched
  const query = pg.Client.prototype.query as (...given: unknown[]) => unknown
  const note = function (this: pg.Client, ...given: unknown[]) {
    const [first] = given
    const text = typeof first === 'object' && first !== null && 'text' in first ? String(first.text) : String(first)
    const { application_name: name = '' } = (this as unknown as { connectionParameters: { application_name?: string } })
      .connectionParameters
    if (OF_THE_SERVICE.test(name) && !watched.seen.has(text)) {
      watched.seen.add(text)
      watched.unread.push(text)
    }
    return Reflect.apply(query, this, given)
  }
  Object.assign(pg.Client.prototype, { query: note })
  return watched
}

/** What is wrong with the statements that were sent since the last look. */
export async function wrongStatements(): Promise<string[]> {
  const { unread } = watch()
  const owners = new Map(Object.entries(inject('owners')))
  const wrong: string[] = []
  for (const text of unread.splice(0)) {
    if (/^\s*(?:begin|commit|rollback|fetch|close|set)\b/.test(text)) continue
    const problems = await lintStatement(text.replace(/^declare batch no scroll cursor for/, ''), {
      owners,
      across: acrossTenants,
    })
    wrong.push(...problems.map((problem) => `${problem}: ${text.replaceAll(/\s+/g, ' ').trim()}`))
  }
  return wrong
}

watch()

afterAll(async () => {
  const wrong = await wrongStatements()
  if (wrong.length > 0) throw new Error(`statements of the service:\n${wrong.join('\n')}`)
})
