import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { startEmbeddedPostgres } from '../../../packages/server/src/process/embedded-postgres/start-embedded-postgres.js'
import { migrate } from '../../../packages/server/src/schema/migrate.js'
import { buildOnce } from '../process/command-line.js'
import { ownersOf } from '../statements/owners.js'
import {
  CITUS_URL,
  createDividedTemplate,
  dropDatabase,
  inDatabase,
  machinesOf,
  onMachines,
  TEMPLATE,
} from './citus.js'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    /** Where databases are made: one PostgreSQL, or a coordinator of Citus and its workers. */
    machines: string[]
    /** Of each table the column that says whose a row is. */
    owners: Record<string, string>
  }
}

interface Shared {
  url: string
  machines: string[]
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
  project.provide('machines', shared.machines)
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
  if (CITUS_URL !== undefined) return startOnCitus(CITUS_URL)
  const dataFolder = await mkdtemp(join(tmpdir(), 'countersign-test-'))
  const postgres = await startEmbeddedPostgres({ dataFolder, durable: false })
  const url = postgres.url.replace(/[^/]*$/, 'postgres')
  const sql = connect({ url }, { max: 1 })
  await sql`create database template_countersign`
  await sql.end()
  const template = inDatabase(url, TEMPLATE)
  await migrate(template)
  const owners = await readOwners(template)
  return {
    url,
    owners,
    machines: [url],
    users: 0,
    stop: async () => {
      await postgres.stop()
      await rm(dataFolder, { recursive: true, force: true })
    },
  }
}

/** Tests run on a divided database where there is a Citus to run them on. */
async function startOnCitus(url: string): Promise<Shared> {
  const machines = await machinesOf(url)
  await createDividedTemplate(machines)
  // The template takes no connections: its twin says what is in it.
  await onMachines(machines.slice(0, 1), `create database countersign_owners template ${TEMPLATE}`)
  const owners = await readOwners(inDatabase(url, 'countersign_owners'))
  await onMachines(machines.slice(0, 1), 'drop database countersign_owners with (force)')
  return { url, owners, machines, users: 0, stop: () => dropDatabase(machines, TEMPLATE) }
}

async function readOwners(url: string): Promise<Record<string, string>> {
  const sql = connect({ url }, { max: 1 })
  try {
    return await ownersOf(sql)
  } finally {
    await sql.end()
  }
}
