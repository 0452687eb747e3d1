import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { SABOTAGED_SQL } from './sabotaged-sql.js'

export interface TestDatabase {
  url: string
  drop(): Promise<void>
}

/** A migrated database of its own, cloned from the run's template. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = inject('postgresUrl')
  const name = `test_${randomBytes(8).toString('hex')}`
  await onServer(server, (sql) => sql`create database ${sql(name)} template template_countersign`)
  const url = server.replace(/[^/]*$/, name)
  if (SABOTAGED_SQL !== '') await onServer(url, (sql) => sql.unsafe(SABOTAGED_SQL))
  return {
    url,
    drop: () => onServer(server, (sql) => sql`drop database if exists ${sql(name)} with (force)`),
  }
}

/** An empty database, for tests of the migrations themselves. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const server = inject('postgresUrl')
  const name = `empty_${randomBytes(8).toString('hex')}`
  await onServer(server, (sql) => sql`create database ${sql(name)}`)
  return {
    url: server.replace(/[^/]*$/, name),
    drop: () => onServer(server, (sql) => sql`drop database if exists ${sql(name)} with (force)`),
  }
}

async function onServer(url: string, run: (sql: ReturnType<typeof connect>) => Promise<unknown>): Promise<void> {
  const sql = connect({ url }, { max: 1 })
  try {
    await run(sql)
  } finally {
    await sql.end()
  }
}
