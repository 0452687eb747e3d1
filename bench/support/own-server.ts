import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../packages/server/src/base/config.js'
import { connect } from '../../packages/server/src/postgres/connect.js'
import { startEmbeddedPostgres } from '../../packages/server/src/process/embedded-postgres/start-embedded-postgres.js'
import { startServer } from '../../packages/server/src/process/start-server.js'

/** The service in this process, on an embedded PostgreSQL of its own. Only a folder that was given outlives it. */
export async function startOwnServer(kept?: string) {
  const folder = kept ?? (await mkdtemp(join(tmpdir(), 'countersign-bench-')))
  const postgres = await startEmbeddedPostgres({ dataFolder: folder })
  const server = await startServer(
    readConfig({
      DATABASE_URL: postgres.url,
      COUNTERSIGN_DATA_FOLDER: folder,
      COUNTERSIGN_PORT: '0',
      COUNTERSIGN_SCRYPT_COST: '10',
      COUNTERSIGN_LOG_LEVEL: 'silent',
      COUNTERSIGN_DEFAULT_QUOTA: 'scale',
    }),
  )
  /** For what a benchmark stores and looks up by itself, as long as it takes. */
  const sql = connect({ url: postgres.url, statementTimeoutMs: 0, lockTimeoutMs: 0 }, { max: 1 })
  return {
    url: server.url,
    parts: server.parts,
    sql,
    remove: async () => {
      await sql.end()
      await server.close()
      await postgres.stop()
      if (kept === undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}
