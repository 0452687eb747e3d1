import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** A folder that the file system does not make. The message says all there is to say. */
export class NoFolder extends Error {
  override name = 'NoFolder'
}

/**
 * Makes a folder and those above it, unless they are there. Node's own way to do so never ends where the folder above is
 * there and still takes none, as below `/proc`.
 */
export function makeFolder(folder: string, mode: number): void {
  const path = resolve(folder)
  const code = tryToMake(path, mode)
  if (code !== 'ENOENT') return
  const above = dirname(path)
  if (!existsSync(above)) makeFolder(above, mode)
  if (tryToMake(path, mode) === 'ENOENT')
    throw new NoFolder(
      `${path} cannot be created: ${above} accepts no folders; choose another folder with --data-folder`,
    )
}

/** Undefined when it is there now, ENOENT when it cannot be made yet, or at all. Throws what else is wrong. */
function tryToMake(path: string, mode: number): 'ENOENT' | undefined {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return code
    if (code !== 'EEXIST' || !statSync(path).isDirectory()) throw error
  }
  return undefined
}
