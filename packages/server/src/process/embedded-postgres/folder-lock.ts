import { randomBytes } from 'node:crypto'
import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { processIdentity } from './process-identity.js'

export interface FolderLock {
  release(): Promise<void>
}

/** Another live process uses the folder. */
export class FolderInUse extends Error {
  override name = 'FolderInUse'
  constructor(folder: string, pid: number) {
    super(
      `the data folder ${folder} is in use by another Countersign server (process ${pid}). ` +
        'Stop that one, or give this one its own folder with --data-folder.',
    )
  }
}

interface Holder {
  pid: number
  identity: string
}

/**
 * Takes the folder for this process. A lock file is named by a rising number and never reused: of two starters that
 * both find lock 7 left by a dead process, only one can create lock 8.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const identity = await processIdentity(process.pid)
  if (identity === null) throw new Error('cannot read the start time of this process')
  const draft = join(folder, `.lock-${randomBytes(6).toString('hex')}`)
  await writeFile(draft, JSON.stringify({ pid: process.pid, identity } satisfies Holder), { mode: 0o600 })
  try {
    for (;;) {
      const found = await lockNumbers(folder)
      await refuseIfHeld(folder, found)
      const mine = Math.max(0, ...found) + 1
      const lock = join(folder, lockName(mine))
      if (!(await claim(draft, lock))) continue
      try {
        // A server that started meanwhile under another number is seen now at the latest.
        const others = (await lockNumbers(folder)).filter((number) => number !== mine)
        await refuseIfHeld(folder, others)
        for (const number of others) await rm(join(folder, lockName(number)), { force: true })
      } catch (error) {
        await rm(lock, { force: true })
        throw error
      }
      return { release: () => rm(lock, { force: true }) }
    }
  } finally {
    await rm(draft, { force: true })
  }
}

const lockName = (number: number) => `server-${number}.lock`

async function lockNumbers(folder: string): Promise<number[]> {
  const names = await readdir(folder)
  return names.flatMap((name) => {
    const number = /^server-([0-9]+)\.lock$/.exec(name)?.[1]
    return number === undefined ? [] : [Number(number)]
  })
}

/** A link is made whole or not at all, so a lock file is never seen half written. */
async function claim(draft: string, lock: string): Promise<boolean> {
  try {
    await link(draft, lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function refuseIfHeld(folder: string, numbers: readonly number[]): Promise<void> {
  for (const number of numbers) {
    const text = await readFile(join(folder, lockName(number)), 'utf8').catch(() => null)
    if (text === null) continue
    const holder = JSON.parse(text) as Holder
    if ((await processIdentity(holder.pid)) === holder.identity) throw new FolderInUse(folder, holder.pid)
  }
}
