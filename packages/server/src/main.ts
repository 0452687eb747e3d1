import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import type { Quota } from '@countersign/protocol'
import { backUp, type RestoreOptions, restoreBackup } from './backup.js'
import { type Config, readConfig } from './config.js'
import { makeApiKey, makeId } from './crypto/secrets.js'
import { openDemo } from './demo.js'
import { DatabaseTrouble } from './embedded-postgres/database-trouble.js'
import { holdsEmbeddedDatabase, runningEmbeddedUrl, startEmbeddedPostgres } from './embedded-postgres.js'
import { createLog } from './log.js'
import { startServer } from './start-server.js'
import { insertKey } from './store/api-keys.js'
import { createDatabase } from './store/database.js'
import { migrate } from './store/migrate.js'
import { insertTenant, updateQuota } from './store/tenants.js'
import { strayVariables } from './stray-variables.js'
import { welcome } from './welcome.js'

type Flags = Readonly<Record<string, string | undefined>>

/** Runs the service in this process until a signal ends it. The only place of the server that reads the environment. */
export async function runServer(flags: Flags, say: (sentence: string) => void): Promise<void> {
  const config = readConfig(process.env, flags)
  for (const line of strayVariables(process.env)) say(line)
  const log = createLog({ level: config.logLevel })
  // Listened for from the start: a signal that comes while PostgreSQL starts must not leave it behind.
  const ended = endSignal(say)
  const server = await startServer(config, { log, say })
  try {
    const demo = await openDemo(server.parts, server.url)
    const byNpmStart = process.env.npm_lifecycle_event === 'start'
    for (const line of welcome({ url: server.url, config, demo, byNpmStart })) say(line)
    await ended
  } finally {
    await server.close()
  }
  say('stopped')
}

function endSignal(say: (sentence: string) => void): Promise<void> {
  return new Promise((done) => {
    let ending = false
    const end = (signal: NodeJS.Signals) => {
      // A second signal is from somebody who cannot wait.
      if (ending) process.exit(1)
      ending = true
      say(`${signal}: answering what is under way, then stopping`)
      done()
    }
    process.on('SIGTERM', end).on('SIGINT', end)
  })
}

export interface CreatedTenant {
  tenantId: string
  quota: Quota
  /** Shown once and kept nowhere. */
  key: string
}

/** Makes a verified tenant with one key, whether or not the service is running. */
export async function createTenant(name: string, quota: Quota | null, flags: Flags): Promise<CreatedTenant> {
  return withDatabase(flags, async (url, config) => {
    await migrate(url)
    return storeTenant(url, name, quota ?? config.defaultQuota)
  })
}

/** Gives a tenant another quota, whether or not the service is running. False when there is no such tenant. */
export async function changeQuota(tenantId: string, quota: Quota, flags: Flags): Promise<boolean> {
  return withDatabase(flags, async (url) => {
    await migrate(url)
    const database = createDatabase({ url, poolSize: 4 })
    try {
      return await updateQuota(database.sql, tenantId, quota)
    } finally {
      await database.close()
    }
  })
}

/** Backs up what the service keeps, whether or not it is running. Returns the rows written. */
export const backUpTo = (file: string, flags: Flags): Promise<number> => withDatabase(flags, (url) => backUp(url, file))

/** Fills the configured database, which must be empty, from a backup. Returns the rows read. */
export const restoreFrom = (file: string, flags: Flags, options: RestoreOptions = {}): Promise<number> =>
  withDatabase(flags, (url) => restoreBackup(file, url, options), 'old or new')

/**
 * The configured database, that of a running server, or the embedded one, started for as long as it is needed. A new
 * one is made only where that is meant: a key made in the wrong folder would open nothing.
 */
async function withDatabase<T>(
  flags: Flags,
  work: (url: string, config: Config) => Promise<T>,
  age: 'old' | 'old or new' = 'old',
): Promise<T> {
  const config = readConfig(process.env, flags)
  const running = config.databaseUrl ?? (await runningEmbeddedUrl(config.dataFolder))
  if (running !== null) return work(running, config)
  if (age === 'old' && !(await holdsEmbeddedDatabase(config.dataFolder))) throw noDatabase(config.dataFolder)
  const started = await startEmbeddedPostgres({ dataFolder: config.dataFolder })
  try {
    return await work(started.url, config)
  } finally {
    await started.stop()
  }
}

const noDatabase = (dataFolder: string) =>
  new DatabaseTrouble(
    `there is no database in ${resolve(dataFolder)}: run this in the folder where the service was started, ` +
      'or name its database with --data-folder or --database-url',
  )

async function storeTenant(url: string, name: string, quota: Quota): Promise<CreatedTenant> {
  const database = createDatabase({ url, poolSize: 4 })
  const tenantId = makeId(randomBytes, 'tnt')
  const key = makeApiKey(randomBytes)
  try {
    await database.transaction(tenantId, async (tx) => {
      await insertTenant(tx, { tenantId, name, quota, verified: true })
      const keyId = makeId(randomBytes, 'key')
      await insertKey(tx, { tenantId, keyId, userId: null, name: 'first key', prefix: key.prefix, keyHash: key.hash })
    })
    return { tenantId, quota, key: key.raw }
  } finally {
    await database.close()
  }
}
