import { resolve } from 'node:path'
import type { Config } from '../base/config.js'
import { DatabaseTrouble } from './embedded-postgres/database-trouble.js'
import {
  holdsEmbeddedDatabase,
  runningEmbeddedUrl,
  startEmbeddedPostgres,
} from './embedded-postgres/start-embedded-postgres.js'

/**
 * The configured database, that of a running server, or the embedded one, started for as long as it is needed. A new
 * one is made only where that is meant: a key made in the wrong folder would open nothing.
 */
export async function withDatabase<T>(
  config: Config,
  work: (url: string) => Promise<T>,
  age: 'old' | 'old or new' = 'old',
): Promise<T> {
  const running = config.databaseUrl ?? (await runningEmbeddedUrl(config.dataFolder))
  if (running !== null) return work(running)
  if (age === 'old' && !(await holdsEmbeddedDatabase(config.dataFolder))) throw noDatabase(config.dataFolder)
  const started = await startEmbeddedPostgres({ dataFolder: config.dataFolder })
  try {
    return await work(started.url)
  } finally {
    await started.stop()
  }
}

const noDatabase = (dataFolder: string) =>
  new DatabaseTrouble(
    `there is no database in ${resolve(dataFolder)}: run this in the folder where the service was started, ` +
      'or name its database with --data-folder or --database-url',
  )
