import { spawnSync } from 'node:child_process'
import { DatabaseTrouble } from './database-trouble.js'

/** Who PostgreSQL runs as when the server is root, which PostgreSQL refuses to be. */
export interface DatabaseUser {
  name: string
  uid: number
  gid: number
}

/** Null: not root, so PostgreSQL runs as the user of the server. */
export function databaseUser(): DatabaseUser | null {
  if (process.getuid?.() !== 0) return null
  const user = lookUp('postgres') ?? lookUp('_postgres') ?? createUser() ?? lookUp('nobody')
  if (user) return user
  throw new DatabaseTrouble(
    'PostgreSQL refuses to run as root, and there is no user "postgres" or "nobody" to run it as. ' +
      'Create a user "postgres", start Countersign as another user, or set DATABASE_URL.',
  )
}

/** Whether the user can do `args` to a path, checked by doing it as that user: modes alone do not say. */
export function canReach(user: DatabaseUser, program: string, args: readonly string[]): boolean {
  const { status, error } = spawnSync(program, args, { uid: user.uid, gid: user.gid, cwd: '/', stdio: 'ignore' })
  return error === undefined && status === 0
}

function lookUp(name: string): DatabaseUser | null {
  const [uid, gid] = ['-u', '-g'].map((flag) => {
    const { status, stdout } = spawnSync('id', [flag, name], { encoding: 'utf8' })
    return status === 0 ? Number(stdout) : null
  })
  return uid == null || gid == null || uid === 0 ? null : { name, uid, gid }
}

function createUser(): DatabaseUser | null {
  const { status } = spawnSync('useradd', ['--system', '--user-group', '--no-create-home', 'postgres'], {
    stdio: 'ignore',
  })
  return status === 0 ? lookUp('postgres') : null
}
