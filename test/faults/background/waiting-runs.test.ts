import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { MAX_JUDGED_AT_ONCE } from '../../../packages/server/src/runs/judge-run.js'
import { claimRun, MOST_UNDER_WAY } from '../../../packages/server/src/store/runs/runs.js'
import { createTestDatabase } from '../../support/postgres/database.js'
import { rowsRead } from '../../support/postgres/rows-read.js'
import { proves } from '../../support/proves.js'

const database = await createTestDatabase()
const sql = connect({ url: database.url }, { max: 3 })
afterAll(async () => {
  await sql.end()
  await database.drop()
})
beforeEach(() => sql`truncate tenants cascade`)

const addTenants = (count: number) =>
  sql`insert into tenants (tenant_id, name) select 't' || n, 't' from generate_series(0, ${count - 1}::int) n`

/** The lower its number, the older the run. */
const addRuns = (tenants: number, from: number, to: number) => sql`
  insert into runs (tenant_id, run_id, status, compiled_hash, against, body_hash, created_at)
  select 't' || n % ${tenants}::int, 'r' || n, 'queued', 'h', '{}', 'h', now() - interval '1 day' + n * interval '1 s'
  from generate_series(${from}::int, ${to}::int) n`

const claimed = async () => {
  const run = await sql.begin(claimRun)
  return run === null ? null : `${run.tenantId} ${run.runId}`
}

const end = (runId: string) => sql`update runs set status = 'done' where run_id = ${runId}`

proves('background.runs-in-turn', 'the tenant with fewest runs under way is next, with its oldest', async () => {
  await addTenants(3)
  await addRuns(1, 1, 4)
  await sql`update runs set tenant_id = 't1' where run_id = 'r4'`
  await addRuns(3, 5, 5)
  expect([await claimed(), await claimed(), await claimed(), await claimed()]).toEqual([
    't0 r1',
    't1 r4',
    't2 r5',
    't0 r2',
  ])
  // Its instance went away: it waits again, and does not count as under way.
  await sql`update runs set claimed_until = now() - interval '1 s' where run_id in ('r1', 'r2')`
  await sql.begin(async (tx) => {
    await tx`select 1 from runs where run_id = 'r1' for update`
    expect(await claimed()).toBe('t0 r2')
  })
  expect([await claimed(), await claimed()]).toEqual(['t0 r1', null])
  await end('r2')
  expect([await claimed(), await claimed()]).toEqual(['t0 r3', null])
})

proves(
  'background.runs-in-turn',
  'a tenant has two under way at most, also when its runs are taken in one moment',
  async () => {
    await addTenants(2)
    await addRuns(1, 1, 9)
    // The others come while the first is not written yet.
    const { others } = await sql.begin(async (tx) => {
      expect(await claimRun(tx)).toMatchObject({ runId: 'r1' })
      const begun = [claimed(), claimed()]
      await setTimeout(200)
      return { others: begun }
    })
    expect((await Promise.all(others)).filter((run) => run !== null)).toHaveLength(MOST_UNDER_WAY - 1)
    expect(await claimed()).toBe(null)
    await addRuns(2, 11, 11)
    expect(await claimed()).toBe('t1 r11')
    await end('r1')
    expect([await claimed(), await claimed()]).toEqual(['t0 r3', null])
  },
)

test('a tenant leaves at least half of the places of a process to others', () => {
  expect(MOST_UNDER_WAY).toBeLessThanOrEqual(MAX_JUDGED_AT_ONCE / 2)
})

proves('background.runs-in-turn', 'thousands of runs that wait do not make the next one wait', async () => {
  for (const tenants of [1, 500]) {
    await sql`truncate tenants cascade`
    await addTenants(tenants)
    await addRuns(tenants, 0, 4_999)
    await sql`analyze runs`
    for (const next of [0, 1, 2, 3, 4]) {
      const read = await sql.begin((tx) =>
        rowsRead(tx, 'runs', async () => expect(await claimRun(tx)).toMatchObject({ runId: `r${next}` })),
      )
      expect(read, `${tenants} tenants`).toBeLessThan(1_250)
      // Of two that one tenant may have under way.
      await end(`r${next - 1}`)
    }
  }
})
