import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from './command.js'

const ENDING = '.archive.gz'

/** The files that were named, and the archives below the folders that were. */
export async function archivesIn(paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(paths.map(async (path) => (isFolder(path) ? archivesBelow(path) : [path])))
  const files = found.flat()
  if (files.length === 0) throw new UsageError(`no archives (*${ENDING}) are in ${paths.join(', ')}`)
  return files
}

export const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

const archivesBelow = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true }))
    .filter((name) => name.endsWith(ENDING))
    .sort()
    .map((name) => join(folder, name))
