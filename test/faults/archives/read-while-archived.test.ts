import { expect } from 'vitest'
import type { Sql, Tx } from '../../../packages/server/src/postgres/sql.js'
import { insertArchivedLedgers } from '../../../packages/server/src/store/archives/archived-ledgers.js'
import {
  type ArchivedRow,
  deleteArchivedRows,
  readArchivedRows,
} from '../../../packages/server/src/store/archives/archived-rows.js'
import { throughSql } from '../../support/postgres/watched-sql.js'
import { proves } from '../../support/proves.js'
import { LOOKUP } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'
import { openWorkflow } from '../../support/runtime/workflow.js'
import { insertRows } from '../../support/volume/insert-rows.js'

/** Called before each statement of the service outside a transaction. */
let onStatement: () => Promise<void> = async () => {}

const { runtime, api, owner } = await withOwnedRuntime({
  wrapDatabase: (database) => throughSql(database, slowed),
})
const tenantId = (await owner.call('me', {})).body.user.tenant_id

function slowed(sql: Sql): Sql {
  const waiting = (query: unknown) => {
    // Parts of statements are queries too, until somebody waits for them.
    const run = Reflect.get(query as object, 'then') as (...given: unknown[]) => unknown
    return Object.assign(query as object, {
      // biome-ignore lint/suspicious/noThenProperty: what is waited for waits for the moment first
      then: (...given: unknown[]) =>
        onStatement().then(() => Reflect.apply(run, query, given), given[1] as (error: unknown) => unknown),
    })
  }
  return new Proxy(sql, {
    apply: (target, self, given: unknown[]) => {
      const made = Reflect.apply(target, self, given)
      return typeof made === 'object' && made !== null && 'then' in made ? waiting(made) : made
    },
    get: (target, name) => {
      const found = Reflect.get(target, name)
      return name === 'unsafe' ? (...given: Parameters<Sql['unsafe']>) => waiting(target.unsafe(...given)) : found
    },
  }) as Sql
}

const session = await openWorkflow(api, { session_id: 'read' })
await session.turn([LOOKUP])
const { workflowId } = session
const batch = { tenantId, sessionIds: ['read'], workflowIds: [workflowId] }

/** What the archive does to the rows, in one transaction. */
const removeRows = (): Promise<ArchivedRow[]> =>
  runtime.sql.begin(async (tx) => {
    const rows: ArchivedRow[] = []
    for await (const row of readArchivedRows(tx as Tx, batch)) rows.push(row)
    await deleteArchivedRows(tx as Tx, batch)
    const head = { seq: 1, hash: 'x' }
    await insertArchivedLedgers(tx as Tx, { tenantId, file: 'f', digest: 'd' }, [
      { ledger: 'session', id: 'read', head },
      { ledger: 'workflow', id: workflowId, head },
    ])
    return rows
  }) as Promise<ArchivedRow[]>

const putBack = (rows: readonly ArchivedRow[]) =>
  runtime.sql.begin(async (tx) => {
    await tx`delete from archived_ledgers`
    for (const { table, json } of rows) await insertRows(tx as Tx, table, [json])
  })

const params = { session_id: 'read', workflow_id: workflowId }
const READS: Readonly<Record<string, () => Promise<{ status: number; body: unknown; problem?: unknown }>>> = {
  'the ledger': () => api.exportEvents({ params }),
  'a page of the ledger': () => api.exportEvents({ params, query: { after: '1', limit: '1' } }),
  'the ledger of a workflow': () => api.exportWorkflowEvents({ params }),
  'the proof': () => owner.call('loadProof', { params }),
  'the timeline': () => owner.call('loadTimeline', { params }),
}

proves('archive.read-meanwhile', async () => {
  const found: string[] = []
  for (const [name, read] of Object.entries(READS)) {
    const whole = await read()
    expect([name, whole.status]).toEqual([name, 200])
    let left = 1
    for (let moment = 1; left > 0 && moment < 40; moment += 1) {
      left = 0
      // Of a job of the service perhaps: then it may go on when the answer is there.
      let removal: Promise<ArchivedRow[]> | null = null
      let statement = 0
      onStatement = async () => {
        statement += 1
        if (statement === moment) {
          removal = removeRows()
          await removal
        } else if (statement > moment) left += 1
      }
      const answer = await read()
      onStatement = async () => {}
      if (removal === null) break
      const rows = await (removal as Promise<ArchivedRow[]>)
      const told = JSON.stringify(answer.body) === JSON.stringify(whole.body) ? 'whole' : JSON.stringify(answer)
      found.push(`${name} at ${moment}: ${/archived on/.test(told) && answer.status === 404 ? 'archived' : told}`)
      await putBack(rows)
    }
  }
  expect(found.filter((line) => !/: (?:whole|archived)$/.test(line))).toEqual([])
  expect(found.filter((line) => line.endsWith('archived')).length).toBeGreaterThan(10)
  expect(runtime.logLines.filter((line) => line.includes('does not match'))).toEqual([])
})
