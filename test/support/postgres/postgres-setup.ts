import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { startEmbeddedPostgres } from '../../../packages/server/src/process/embedded-postgres/start-embedded-postgres.js'
import { migrate } from '../../../packages/server/src/schema/migrate.js'
import { buildOnce } from '../process/command-line.js'
import { ownersOf } from '../statements/owners.js'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    /** Of each table the column that says whose a row is. */
    owners: Record<string, string>
  }
}

interface Shared {
  url: string
  owners: Record<string, string>
  users: number
  stop: () => Promise<void>
}

/** All stages of a run live in this process and share one PostgreSQL. */
const holder = globalThis as typeof globalThis & { countersignTestPostgres?: Promise<Shared> }

/** Starts the PostgreSQL of the run and migrates the template that every test database is cloned from. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  holder.countersignTestPostgres ??= start()
  const shared = await holder.countersignTestPostgres
  shared.users += 1
  project.provide('postgresUrl', shared.url)
  project.provide('owners', shared.owners)
  return async () => {
    shared.users -= 1
    if (shared.users > 0) return
    delete holder.countersignTestPostgres
    await shared.stop()
  }
}

async function start(): Promise<Shared> {
  // Tests run the sources; the worker thread of a server runs what was built from them.
  buildOnce('packages/server')
  const dataFolder = await mkdtemp(join(tmpdir(), 'countersign-test-'))
  const postgres = await startEmbeddedPostgres({ dataFolder, durable: false })
  const url = postgres.url.replace(/[^/]*$/, 'postgres')
  const sql = connect({ url }, { max: 1 })
  await sql`create database template_countersign`
  await sql.end()
  const template = url.replace(/[^/]*$/, 'template_countersign')
  await migrate(template)
  const migrated = connect({ url: template }, { max: 1 })
  const owners = await ownersOf(migrated)
  await migrated.end()
  return {
    url,
    owners,
    users: 0,
    stop: async () => {
      await postgres.stop()
      await rm(dataFolder, { recursive: true, force: true })
    },
  }
}
