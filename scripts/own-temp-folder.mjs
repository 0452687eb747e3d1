import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Set where a process above has made the folder, and removes it. */
const MARK = 'COUNTERSIGN_OWN_TEMP'

/**
 * Temporary folders of this process and of every process that it starts lie in one folder of their own, which is removed
 * when it ends: a test that is killed, or a library that makes folders by itself, leaves nothing behind.
 */
export function useOwnTempFolder(env = process.env) {
  if (env[MARK] !== undefined) return
  const folder = mkdtempSync(join(tmpdir(), 'countersign-run-'))
  // PostgreSQL that root starts runs as another user, who must get in and make folders as in the system's own.
  chmodSync(folder, 0o1777)
  Object.assign(env, { [MARK]: folder, TMPDIR: folder })
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
}
