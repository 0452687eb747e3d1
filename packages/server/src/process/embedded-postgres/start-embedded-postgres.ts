import type { ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { chmod, open, readFile, rename, stat, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolder } from '../../base/make-folder.js'
import { connect } from '../../postgres/connect.js'
import { copyBinaries, findBinaries } from './binaries.js'
import {
  CLUSTER_USER,
  type Cluster,
  clusterExists,
  fatalLine,
  initialise,
  isReady,
  spawnPostmaster,
  stopLeftover,
  stopProcess,
} from './cluster.js'
import { DatabaseTrouble } from './database-trouble.js'
import { canReach, databaseUser } from './database-user.js'
import { lockFolder } from './folder-lock.js'
import { processIdentity } from './process-identity.js'

export interface EmbeddedPostgres {
  url: string
  /** The process id of the postmaster now; it changes when PostgreSQL had to be started again. */
  pid(): number
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  dataFolder: string
  /** Default true. False only for throw-away databases of tests. */
  durable?: boolean
  /** Used in place of what the database user cannot reach. */
  systemFolder?: string
  /** Receives plain sentences for the person at the terminal. */
  say?: (sentence: string) => void
}

const DATABASE = 'countersign'
const SYSTEM_FOLDER = process.platform === 'darwin' ? '/usr/local/var/countersign' : '/var/lib/countersign'
const LOG_LIMIT_BYTES = 10 * 1024 * 1024
const START_TIMEOUT_MS = 60_000
const TELLING_FROM_MS = 800
const PORTS_TRIED = 5
/** PostgreSQL's word for a port that it did not get. */
const NO_SOCKET = 'could not create any TCP/IP sockets'

/** What the folder remembers between starts, readable by its owner only. */
interface Remembered {
  password: string
  port: number
  pid: number
  identity: string
}

/** Starts PostgreSQL in the data folder, restarts it when it dies, and stops it with `stop`. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const say = options.say ?? (() => {})
  const dataFolder = resolve(options.dataFolder)
  makeFolder(dataFolder, process.getuid?.() === 0 ? 0o711 : 0o700)
  const lock = await lockFolder(dataFolder)
  try {
    const cluster = await placeCluster(dataFolder, options, say)
    const before = await remembered(dataFolder)
    if (await stopLeftover(cluster, before)) say('stopped a PostgreSQL that an earlier server left running')
    const password = before?.password ?? randomBytes(24).toString('base64url')
    if (!before) await remember(dataFolder, { password, port: 0, pid: 0, identity: '' })
    if (!(await clusterExists(cluster.folder))) say('creating the database (first start only)')
    await initialise(cluster, password)
    const supervisor = await supervise({ cluster, dataFolder, password, say })
    await createDatabaseOnce(supervisor.url)
    const stop = async () => {
      await supervisor.stop()
      await lock.release()
    }
    return { url: supervisor.url, pid: supervisor.pid, stop }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Whether a server has ever had its database in this folder. */
export const holdsEmbeddedDatabase = async (dataFolder: string): Promise<boolean> =>
  (await remembered(resolve(dataFolder))) !== null

/** The address of the PostgreSQL that a running server has in this folder, or null when none runs. */
export async function runningEmbeddedUrl(dataFolder: string): Promise<string | null> {
  const found = await remembered(resolve(dataFolder))
  if (!found || found.pid === 0 || (await processIdentity(found.pid)) !== found.identity) return null
  return urlOf(found.password, found.port)
}

const urlOf = (password: string, port: number, database = DATABASE) =>
  `postgres://${CLUSTER_USER}:${password}@127.0.0.1:${port}/${database}`

/** Where the data lies and which binaries serve it: a system folder when the database user cannot reach the asked one. */
async function placeCluster(
  dataFolder: string,
  { durable = true, systemFolder = SYSTEM_FOLDER }: EmbeddedOptions,
  say: (sentence: string) => void,
): Promise<Cluster> {
  const user = databaseUser()
  const binaries = await findBinaries()
  if (!user) return { folder: join(dataFolder, 'postgres'), binaries, user, durable }
  await chmod(dataFolder, 0o711)
  const reachesBinaries = canReach(user, binaries.postgres, ['--version'])
  const reachesData = canReach(user, 'test', ['-x', dataFolder])
  if (!reachesBinaries || !reachesData) makeFolder(systemFolder, 0o755)
  if (!reachesBinaries) {
    say(`the user ${user.name} cannot reach ${binaries.folder}; PostgreSQL runs from a copy in ${systemFolder}`)
  }
  const own = join(systemFolder, `data-${createHash('sha256').update(dataFolder).digest('hex').slice(0, 12)}`)
  if (!reachesData) {
    makeFolder(own, 0o711)
    say(`the user ${user.name} cannot reach ${dataFolder}; the database is kept in ${own}`)
  }
  return {
    folder: join(reachesData ? dataFolder : own, 'postgres'),
    binaries: reachesBinaries ? binaries : await copyBinaries(binaries, systemFolder),
    user,
    durable,
  }
}

interface Supervised {
  cluster: Cluster
  dataFolder: string
  password: string
  say: (sentence: string) => void
}

async function supervise({ cluster, dataFolder, password, say }: Supervised) {
  let port = await freePort()
  let stopping = false
  let current = await startFirst()

  /** Another program may take a port between its being found free and its being used. */
  async function startFirst(tries = 1): ReturnType<typeof startOnce> {
    try {
      return await startOnce()
    } catch (error) {
      if (tries === PORTS_TRIED || !(error instanceof Error && error.message.includes(NO_SOCKET))) throw error
      port = await freePort()
      return startFirst(tries + 1)
    }
  }

  async function startOnce(): Promise<{ child: ChildProcess; pid: number; identity: string }> {
    const log = await openLog(join(dataFolder, 'postgres.log'))
    try {
      const child = spawnPostmaster(cluster, port, log.fd)
      const pid = await readyPid(cluster, child, join(dataFolder, 'postgres.log'))
      const identity = (await processIdentity(pid)) ?? ''
      await remember(dataFolder, { password, port, pid, identity })
      child.once('exit', () => {
        if (!stopping) void restart()
      })
      return { child, pid, identity }
    } finally {
      await log.close()
    }
  }

  /** Backends of a killed postmaster need a moment to notice; until then the new one cannot start. */
  async function restart(): Promise<void> {
    say('PostgreSQL ended unexpectedly; starting it again')
    let told = ''
    for (let waitMs = 100; !stopping; waitMs = Math.min(waitMs * 2, 2_000)) {
      try {
        current = await startOnce()
        say('PostgreSQL is back')
        return
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        // The first tries may come too early; what still fails then needs a person.
        if (waitMs >= TELLING_FROM_MS && reason !== told)
          say(`PostgreSQL cannot be started, and is tried again: ${reason}`)
        if (waitMs >= TELLING_FROM_MS) told = reason
        await sleep(waitMs)
      }
    }
  }

  return {
    url: urlOf(password, port),
    pid: () => current.pid,
    stop: async () => {
      stopping = true
      if (current.child.exitCode === null && current.child.signalCode === null) {
        await stopProcess(current.pid, current.identity)
      }
    },
  }
}

async function readyPid(cluster: Cluster, child: ChildProcess, logFile: string): Promise<number> {
  const failure = new Promise<never>((_, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      reject(new DatabaseTrouble(`PostgreSQL ended at once (${signal ?? code}): ${whyEnded(logFile)} (${logFile})`)),
    )
  })
  const readiness = (async () => {
    const until = Date.now() + START_TIMEOUT_MS
    while (Date.now() < until) {
      if (child.pid !== undefined && (await isReady(cluster, child.pid))) return child.pid
      await sleep(15)
    }
    throw new DatabaseTrouble(`PostgreSQL did not become ready within ${START_TIMEOUT_MS / 1000} s: see ${logFile}`)
  })()
  failure.catch(() => {})
  return Promise.race([failure, readiness])
}

/** The log may be long: only its end is of interest. */
function whyEnded(logFile: string): string {
  try {
    return fatalLine(readFileSync(logFile, 'utf8').slice(-4_000))
  } catch {
    return 'no log output'
  }
}

async function openLog(file: string) {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  )
  if (size > LOG_LIMIT_BYTES) await truncate(file)
  return open(file, 'a', 0o600)
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((done, fail) => probe.once('error', fail).listen(0, '127.0.0.1', done))
  const address = probe.address()
  await new Promise((done) => probe.close(done))
  if (address === null || typeof address === 'string') throw new Error('no free port on 127.0.0.1')
  return address.port
}

async function createDatabaseOnce(url: string): Promise<void> {
  const sql = connect({ url: url.replace(/[^/]*$/, 'postgres') }, { max: 1 })
  try {
    const found = await sql`select 1 from pg_database where datname = ${DATABASE}`
    if (found.length === 0) await sql`create database ${sql(DATABASE)}`
  } finally {
    await sql.end({ timeout: 5 })
  }
}

const memoryFile = (dataFolder: string) => join(dataFolder, 'database.json')

async function remembered(dataFolder: string): Promise<Remembered | null> {
  const text = await readFile(memoryFile(dataFolder), 'utf8').catch(() => null)
  return text === null ? null : (JSON.parse(text) as Remembered)
}

async function remember(dataFolder: string, what: Remembered): Promise<void> {
  const draft = `${memoryFile(dataFolder)}.draft`
  await writeFile(draft, JSON.stringify(what), { mode: 0o600 })
  await rename(draft, memoryFile(dataFolder))
}
