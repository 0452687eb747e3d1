import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

/**
 * The path of a file or folder of the recorded data, or null where this checkout has none. It lies beside the
 * project, in `../shared/data`, or where COUNTERSIGN_SHARED_DATA says.
 */
export function sharedData(name: string): string | null {
  const beside = fileURLToPath(new URL('../../../../shared/data', import.meta.url))
  const roots = [beside, process.env.COUNTERSIGN_SHARED_DATA]
  for (const root of roots) {
    if (root === undefined || root === '') continue
    const path = join(root, name)
    if (existsSync(path)) return path
  }
  return null
}

export const SHARED_DATA_MISSING = 'the recorded data is absent: set COUNTERSIGN_SHARED_DATA to its folder'

/** Reads a JSON file of the recorded data. */
export function readSharedJson<T>(name: string): T {
  return JSON.parse(readShared(name).toString('utf8'))
}

/** Reads the lines of a `.jsonl.gz` file of the recorded data. */
export function readSharedLines<T>(name: string): T[] {
  const lines = gunzipSync(readShared(name)).toString('utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
}

function readShared(name: string): Buffer {
  const path = sharedData(name)
  if (path === null) throw new Error(SHARED_DATA_MISSING)
  return readFileSync(path)
}
