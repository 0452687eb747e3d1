import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../packages/server/src/base/config.js'
import { startServer } from '../../packages/server/src/process/start-server.js'

/** The service in this process, on an embedded PostgreSQL of its own. Only a folder that was given outlives it. */
export async function startOwnServer(kept?: string) {
  const folder = kept ?? (await mkdtemp(join(tmpdir(), 'countersign-bench-')))
  const server = await startServer(
    readConfig({
      COUNTERSIGN_DATA_FOLDER: folder,
      COUNTERSIGN_PORT: '0',
      COUNTERSIGN_SCRYPT_COST: '10',
      COUNTERSIGN_LOG_LEVEL: 'silent',
      COUNTERSIGN_DEFAULT_QUOTA: 'scale',
    }),
  )
  return {
    url: server.url,
    parts: server.parts,
    remove: async () => {
      await server.close()
      if (kept === undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}
