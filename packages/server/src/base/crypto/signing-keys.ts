import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../make-folder.js'
import type { Random } from './secrets.js'

/** The signing keys of the data folder, one a line, newest first; made at the first start, readable by its owner only. */
export function storedSigningKeys(dataFolder: string, random: Random): readonly string[] {
  const file = join(dataFolder, 'signing-keys')
  try {
    return readKeys(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  makeFolder(dataFolder, 0o700)
  try {
    writeFileSync(file, `${random(48).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    // Another instance on the same folder was quicker: its key is ours.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return readKeys(file)
}

const readKeys = (file: string): string[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
