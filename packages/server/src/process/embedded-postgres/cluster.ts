import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Binaries } from './binaries.js'
import { DatabaseTrouble } from './database-trouble.js'
import type { DatabaseUser } from './database-user.js'
import { processCommand, processIdentity } from './process-identity.js'

/** A PostgreSQL data directory, the programs that serve it, and the user they run as (null: our own). */
export interface Cluster {
  folder: string
  binaries: Binaries
  user: DatabaseUser | null
  /** False only for throw-away databases of tests: PostgreSQL then does not wait for the disk. */
  durable: boolean
}

export const CLUSTER_USER = 'countersign'

/** Creates the data directory unless it is there. Made under another name and renamed, so that a killed start leaves no half. */
export async function initialise(cluster: Cluster, password: string): Promise<void> {
  const version = await readFile(join(cluster.folder, 'PG_VERSION'), 'utf8').catch(() => null)
  const major = cluster.binaries.version.split('.')[0]
  if (version !== null) {
    if (version.trim() === major) return
    throw new DatabaseTrouble(
      `${cluster.folder} was made by PostgreSQL ${version.trim()} and this version brings ${major}. ` +
        'Dump it with the old version and restore it here, or choose another data folder.',
    )
  }
  const draft = `${cluster.folder}.draft-${randomBytes(4).toString('hex')}`
  const passwordFile = `${draft}.password`
  await mkdir(draft, { mode: 0o700 })
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  try {
    if (cluster.user) {
      await chown(draft, cluster.user.uid, cluster.user.gid)
      await chown(passwordFile, cluster.user.uid, cluster.user.gid)
    }
    await runInitdb(cluster, [
      `--pgdata=${draft}`,
      `--username=${CLUSTER_USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--locale=C',
      '--no-instructions',
      ...(cluster.durable ? [] : ['--no-sync']),
    ])
    await rename(draft, cluster.folder)
  } finally {
    await rm(passwordFile, { force: true })
    await rm(draft, { recursive: true, force: true })
  }
}

/** The line that says why, out of everything PostgreSQL says around it. */
export function fatalLine(text: string): string {
  const lines = text.trim().split('\n')
  const line = lines.findLast((candidate) => /FATAL|PANIC|error:/.test(candidate)) ?? lines.at(-1) ?? ''
  return line.replace(/^.*?(?:FATAL|PANIC|error):\s*/, '')
}

async function runInitdb(cluster: Cluster, args: readonly string[]): Promise<void> {
  const child = spawn(cluster.binaries.initdb, args, { ...spawnAs(cluster), stdio: ['ignore', 'ignore', 'pipe'] })
  let complaints = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    complaints = (complaints + chunk.toString('utf8')).slice(-2000)
  })
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new DatabaseTrouble(`PostgreSQL could not create its data directory: ${fatalLine(complaints)}`)
}

/** Starts the postmaster. In a session of its own, so that Ctrl-C reaches the server first and it can drain. */
export function spawnPostmaster(cluster: Cluster, port: number, logFd: number): ChildProcess {
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port: String(port),
    max_connections: '200',
    fsync: cluster.durable ? 'on' : 'off',
    synchronous_commit: cluster.durable ? 'on' : 'off',
    full_page_writes: cluster.durable ? 'on' : 'off',
    // A failed statement and its values may hold secrets: only the message is logged.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return spawn(cluster.binaries.postgres, ['-D', cluster.folder, ...flags], {
    ...spawnAs(cluster),
    detached: true,
    stdio: ['ignore', 'ignore', logFd],
  })
}

/** The working folder must be one the user can enter, which the server's own need not be. */
const spawnAs = ({ folder, user }: Cluster) => ({
  cwd: dirname(folder),
  env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
  ...(user ? { uid: user.uid, gid: user.gid } : {}),
})

/** Ends a postmaster that a killed server left behind, and clears away a pid file that names another process. */
export async function stopLeftover(
  cluster: Cluster,
  known: { pid: number; identity: string } | null,
): Promise<boolean> {
  const pidFile = join(cluster.folder, 'postmaster.pid')
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 0) return false
  const identity = await processIdentity(pid)
  if (identity === null) return false
  const isOurs = (known?.pid === pid && known.identity === identity) || (await servesFolder(pid, cluster.folder))
  if (!isOurs) {
    await rm(pidFile, { force: true })
    return false
  }
  await stopProcess(pid, identity)
  return true
}

async function servesFolder(pid: number, folder: string): Promise<boolean> {
  const command = await processCommand(pid)
  return command?.includes(`-D ${folder} `) ?? false
}

/** Fast shutdown; when that takes too long, immediate (PostgreSQL then recovers from its log); at last, kill. */
export async function stopProcess(pid: number, identity: string): Promise<void> {
  for (const [signal, patienceMs] of [
    ['SIGINT', 10_000],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    try {
      process.kill(pid, signal)
    } catch {
      return
    }
    const until = Date.now() + patienceMs
    while (Date.now() < until) {
      if ((await processIdentity(pid)) !== identity) return
      await sleep(20)
    }
  }
  throw new DatabaseTrouble(`PostgreSQL (process ${pid}) does not end; end it by hand and start again`)
}

/** Whether the postmaster with this pid accepts connections, by the status line of its pid file. */
export async function isReady(cluster: Cluster, pid: number): Promise<boolean> {
  const lines = (await readFile(join(cluster.folder, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}

export const clusterExists = (folder: string): Promise<boolean> =>
  stat(join(folder, 'PG_VERSION')).then(
    () => true,
    () => false,
  )
