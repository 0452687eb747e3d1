import { createServer, type Server } from 'node:http'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics } from 'prom-client'
import { createIssuerKeys } from '../accounts/principals/issuer-keys.js'
import { addressOf, type Config } from '../base/config.js'
import { secureRandom } from '../base/crypto/secrets.js'
import { createLog, type Log } from '../base/log.js'
import { createMemories } from '../base/memories.js'
import { createMetrics } from '../base/metrics.js'
import { policyBytes, warmPolicies } from '../base/policy.js'
import { createCaptureRecorder } from '../captures/capture-recorder.js'
import { createOfferedMemory } from '../captures/offered-memory.js'
import { createWaitingBytes } from '../captures/waiting-bytes.js'
import type { Isolation } from '../context/isolation.js'
import { warmShapes } from '../context/json-body.js'
import { createPlansInPlace } from '../context/plans-in-place.js'
import { createSessionCache } from '../context/session-cache.js'
import { createTaskThread } from '../context/tasks.js'
import { type ByteCount, createByteQuota } from '../entry/byte-quota.js'
import { createKeyUsage } from '../entry/key-usage.js'
import { type AppParts, createApp } from '../http/app.js'
import { warmPages } from '../http/pages.js'
import { createDatabase, type Database } from '../postgres/database.js'
import { judgeBeside, runsAtRest } from '../runs/judge-run.js'
import { codeVersion, migrate } from '../schema/migrate.js'
import { countLedgerEvents } from '../store/health.js'
import { countContradictions } from '../store/ledgers/signed-heads.js'
import { countUndelivered } from '../store/questions/deliveries.js'
import { countSetAside } from '../store/set-aside.js'
import { createClockWatch } from './clock-watch.js'
import { createAccounts } from './create-accounts.js'
import { startEmbeddedPostgres } from './embedded-postgres/start-embedded-postgres.js'
import { createIsolation, type IsolationParts } from './isolation.js'
import { startJobs } from './jobs/start-jobs.js'
import { ledgerSignerOf } from './ledger-signer.js'
import type { Mailer } from './mail/mailer.js'
import { nodeVersionProblem } from './node-version.js'
import { createVersionWatch } from './version-watch.js'

export interface StartOptions {
  log?: Log
  /** Receives plain sentences for the person at the terminal. */
  say?: (sentence: string) => void
  /** Receives credentials as well: a terminal that a person watches. Absent where what is said may be kept as a log. */
  terminal?: ((sentence: string) => void) | undefined
  /** Parts in place of the usual ones, for tests: a clock, a store that fails. */
  parts?: Partial<AppParts>
  wrapDatabase?: (database: Database) => Database
  /** In place of threads for what is not answered in place, for tests. */
  isolate?: ((parts: IsolationParts) => Isolation) | undefined
  /** In place of SMTP or the outbox. */
  mailer?: Mailer
}

export interface RunningServer {
  url: string
  app: FastifyInstance
  parts: AppParts
  /** Reports not ready, and serves on for as long as load balancers may take to notice. */
  drain(): Promise<void>
  /** Finishes the requests in flight, then stops everything that was started. */
  close(): Promise<void>
}

const NO_LEDGER_KEY =
  'COUNTERSIGN_LEDGER_KEYS is not set: heads of ledgers are not signed, so who can write to the database can rewrite the ' +
  'past unnoticed. Make a key with `countersign ledger-key new`'

const FINISH_TIMEOUT_MS = 10_000

/** Starts the store unless one is configured, migrates it, and listens. */
export async function startServer(config: Config, options: StartOptions = {}): Promise<RunningServer> {
  const say = options.say ?? (() => {})
  const log = options.log ?? createLog({ level: config.logLevel })
  const undo: (() => Promise<void>)[] = []
  const stopAll = async () => {
    for (const stop of undo.splice(0).reverse()) await stop()
  }
  try {
    await probe(config)
    let { databaseUrl } = config
    if (databaseUrl === null) {
      const postgres = await startEmbeddedPostgres({ dataFolder: resolve(config.dataFolder), say })
      undo.push(postgres.stop)
      databaseUrl = postgres.url
    }
    const [applied] = await Promise.all([migrate(databaseUrl), warmPolicies(), warmPages(), warmShapes()])
    if (applied.length > 0) say(`the database schema is now at version ${applied.at(-1)}`)
    const runtime = createRuntime(config, databaseUrl, { ...options, log })
    undo.push(runtime.close)
    collectDefaultMetrics({ register: runtime.parts.metrics.registry })
    // Before anything is done by it.
    await runtime.clock.compare()
    runtime.clock.start()
    if (runtime.parts.ledgerSigner === null) log.warn({}, NO_LEDGER_KEY)
    const unsafe = nodeVersionProblem(process.versions.node)
    if (unsafe !== null) log.warn({}, unsafe)
    const jobs = startJobs(runtime.parts)
    undo.push(jobs.close)
    runtime.version.start({ known: await codeVersion(), onOutdated: () => void jobs.close() })
    await listen(runtime)
    const { server } = runtime.app
    undo.push(() => finishRequests(runtime.app))
    runtime.listensAt(urlOf(server, config))
    runtime.parts.isolation.warm()
    const drain = async () => {
      runtime.reportNotReady()
      // Who closes it earlier does not wait for this.
      await sleep(config.drainSeconds * 1_000, undefined, { ref: false })
    }
    const close = async () => {
      runtime.reportNotReady()
      await stopAll()
    }
    return { url: urlOf(server, config), app: runtime.app, parts: runtime.parts, drain, close }
  } catch (error) {
    await stopAll()
    throw error
  }
}

/** The app on a database that is there already, without listening. Also what tests use. */
export function createRuntime(config: Config, databaseUrl: string, options: StartOptions = {}) {
  const opened = createDatabase({ url: databaseUrl, poolSize: config.poolSize })
  const database = options.wrapDatabase?.(opened) ?? opened
  const log = options.log ?? createLog({ level: config.logLevel })
  const metrics = createMetrics()
  const memories = createMemories({ memoryMb: config.memoryMb, metrics })
  memories.watch('policies', policyBytes)
  const clock = options.parts?.clock ?? (() => new Date())
  const random = options.parts?.random ?? secureRandom()
  let ready = true
  let url = addressOf(config)
  const keyUsage = createKeyUsage({ database, clock, log }, memories.cache('key_usage'))
  const counts = memories.cache<ByteCount>('byte_counts')
  const byteQuota = createByteQuota({ sql: database.sql, quotas: config.quotas, log, counts })
  const waitingBytes = createWaitingBytes(memories.boundBytes('captures'))
  memories.watch('captures', waitingBytes.bytes)
  const captures = options.parts?.captures ?? createCaptureRecorder({ database, random, log }, waitingBytes)
  const thread = options.parts?.thread ?? createTaskThread()
  const plans = createPlansInPlace({ database, log }, memories.cache('plans'))
  const judgeRuns = () => judgeBeside(parts)
  const isolate = options.isolate ?? ((of: IsolationParts) => createIsolation(of, { config, databaseUrl }))
  metrics.gauge('countersign_pool_active', 'Working connections in use', () => database.load().active)
  metrics.gauge('countersign_pool_waiting', 'Requests that wait for a connection', () => database.load().waiting)
  metrics.gauge('countersign_pool_size', 'Working connections there may be', () => database.load().size)
  metrics.gauge('countersign_ledger_height', 'Ledger events stored, as PostgreSQL estimates it', () =>
    countLedgerEvents(database.sql),
  )
  metrics.gaugeBy('countersign_set_aside', 'Work that failed too often and is not tried again, by kind', {
    label: 'kind',
    read: () => countSetAside(database.sql),
  })
  metrics.gauge('countersign_questions_undelivered', 'Questions that wait and of which no notice has arrived', () =>
    countUndelivered(database.sql),
  )
  metrics.gauge('countersign_ledger_contradictions', 'Ledgers that contradict the head that was signed of them', () =>
    countContradictions(database.sql),
  )
  const version = createVersionWatch({ sql: database.sql, log })
  const clockWatch = createClockWatch({ sql: database.sql, clock, log })
  metrics.gauge('countersign_clock_skew_seconds', "How far this process's clock is ahead of the database's", () =>
    clockWatch.skewSeconds(),
  )
  const publicUrl = () => url
  const { mailer, terminal } = options
  const accounts = createAccounts({
    ...{ config, database, log, publicUrl, random },
    ...(mailer && { mailer }),
    terminal,
  })
  const parts: AppParts = {
    config,
    database,
    log,
    metrics,
    memories,
    plans,
    isInPlace: true,
    isolation: isolate({ database, log, thread, memories, config, metrics, captures, plans, judgeRuns, random, clock }),
    judgeRuns,
    sessions: createSessionCache(memories.cache('sessions')),
    captures,
    offeredTools: createOfferedMemory(memories.cache('offered_tools')),
    thread,
    clock,
    random,
    publicUrl,
    accounts,
    ledgerSigner: ledgerSignerOf(config),
    issuerKeys: createIssuerKeys({ config, clock }, memories.cache('issuer_keys')),
    keyUsage,
    byteQuota,
    isReady: () => ready,
    stopReason: () => version.problem() ?? clockWatch.problem(),
    ...options.parts,
  }
  return {
    app: createApp(parts),
    parts,
    version,
    clock: clockWatch,
    listensAt: (address: string) => {
      url = config.publicUrl ?? address
    },
    reportNotReady: () => {
      ready = false
    },
    close: async () => {
      await clockWatch.close()
      await version.close()
      await accounts.mail.close()
      await keyUsage.close()
      await byteQuota.close()
      await captures.close()
      await thread.close()
      await parts.isolation.close()
      await runsAtRest(database)
      await opened.close()
    },
  }
}

/** The address is taken, or may not be used. */
export class ListenError extends Error {
  override name = 'ListenError'
}

const LISTEN_TROUBLES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use by another program; stop it or choose another port with --port',
  EACCES: 'needs more permissions, as ports below 1024 do; choose another port with --port',
  EADDRNOTAVAIL: 'is not an address of this machine; choose another with --host',
  ENOTFOUND: 'is not an address of this machine; choose another with --host',
  EAI_AGAIN: 'is not an address of this machine; choose another with --host',
}

/** Says at once that the address cannot be had, before a database is started for nothing. */
async function probe(config: Config): Promise<void> {
  const server = createServer()
  await new Promise<void>((done, fail) => {
    server.once('error', (error) => fail(listenError(error, config)))
    server.listen({ port: config.port, host: config.host }, done)
  })
  await new Promise((done) => server.close(done))
}

async function listen({ app, parts }: { readonly app: FastifyInstance; readonly parts: AppParts }): Promise<void> {
  const { host, port } = parts.config
  try {
    await app.listen({ host, port, backlog: CONNECTIONS_WAITING })
  } catch (error) {
    throw listenError(error, parts.config)
  }
}

/** Node's default backlog (511) overflows in bursts of connections; dropped SYNs are retried after a second. */
const CONNECTIONS_WAITING = 4_096

/** What is wrong with the address, where that is what is wrong. */
function listenError(error: unknown, { host, port }: Config): unknown {
  const trouble = LISTEN_TROUBLES[(error as NodeJS.ErrnoException).code ?? '']
  return trouble === undefined ? error : new ListenError(`${host}:${port} ${trouble}`)
}

function urlOf(server: Server, { host }: Config): string {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}

/** Takes no new connections and waits for requests in flight; when the patience is over, the rest is cut off. */
async function finishRequests(app: FastifyInstance): Promise<void> {
  // A client leaves its connection open after a reply, so idle ones are closed again and again.
  const sweep = setInterval(() => app.server.closeIdleConnections(), 20)
  const cutOff = setTimeout(() => app.server.closeAllConnections(), FINISH_TIMEOUT_MS)
  await app.close()
  clearInterval(sweep)
  clearTimeout(cutOff)
}
