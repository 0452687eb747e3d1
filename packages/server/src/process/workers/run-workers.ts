import cluster, { type Worker } from 'node:cluster'
import { resolve } from 'node:path'
import type { Config } from '../../base/config.js'
import type { Log } from '../../base/log.js'
import { combineFamilies, type MetricFamily } from '../../base/metric-families.js'
import { startEmbeddedPostgres } from '../embedded-postgres/start-embedded-postgres.js'
import type { FromWorker, Stop, ToWorker } from './messages.js'

export interface WorkersParts {
  readonly log: Log
  readonly say: (sentence: string) => void
  /** When to stop, and whether load balancers are given time to notice. */
  readonly drains: Promise<boolean>
}

/** A worker that ended is replaced after this long; one that ended young keeps its place empty for longer each time. */
const REPLACE_MS = { first: 500, most: 30_000, youngerThan: 10_000 }
/** How long a worker has to finish what it is doing. */
const STOP_MS = 15_000
/** How long others are waited for when somebody looks at the metrics. */
const COLLECT_MS = 1_000

/**
 * Runs the service in several processes that share its port and nothing else but the database. This one starts the
 * database, hands connections out in turn, and puts a new worker in the place of one that ended.
 */
export async function runWorkers(config: Config, { log, say, drains }: WorkersParts): Promise<void> {
  const postgres =
    config.databaseUrl === null
      ? await startEmbeddedPostgres({ dataFolder: resolve(config.dataFolder), say })
      : { url: config.databaseUrl, stop: async () => {} }
  const workers = openWorkers(postgres.url, log)
  let stop: Stop = { drains: false }
  try {
    // The first one alone: it migrates the database, and makes keys where there are none.
    const isReady = await Promise.race([workers.add(1, { greets: true }).then(() => true), drains.then(() => false)])
    for (let number = 2; isReady && number <= config.workers; number++) void workers.add(number)
    stop = { drains: await drains }
  } finally {
    await workers.stop(stop, STOP_MS + config.drainSeconds * 1_000)
    await postgres.stop()
  }
}

function openWorkers(databaseUrl: string, log: Log) {
  const running = new Map<number, Worker>()
  const collectors = new Map<number, (worker: Worker) => void>()
  /** What each running worker last said of itself. */
  const metrics = new Map<Worker, readonly MetricFamily[]>()
  /** What workers that ended had counted: a sum that falls reads as a restart of everything. */
  let ofEnded: readonly MetricFamily[] = []
  let isStopping = false
  let asked = 0
  let underWay: Promise<MetricFamily[]> | null = null

  const collectAll = async (): Promise<MetricFamily[]> => {
    const id = ++asked
    const waitedFor = new Set(running.values())
    await new Promise<void>((done) => {
      const timer = setTimeout(done, COLLECT_MS)
      collectors.set(id, (worker) => {
        waitedFor.delete(worker)
        if (waitedFor.size > 0) return
        clearTimeout(timer)
        done()
      })
      for (const worker of waitedFor) tell(worker, { collect: id })
    })
    collectors.delete(id)
    return combineFamilies([...metrics.values(), ofEnded])
  }

  const keepCounts = (worker: Worker): void => {
    const counts = (metrics.get(worker) ?? []).filter(({ type }) => type !== 'gauge')
    ofEnded = combineFamilies([ofEnded, counts])
    metrics.delete(worker)
  }

  const hear = async (worker: Worker, message: FromWorker) => {
    if ('collected' in message) {
      if (!worker.isDead()) metrics.set(worker, message.families)
      collectors.get(message.collected)?.(worker)
    }
    if (!('wantsMetrics' in message)) return
    // However many ask at once, the workers are asked once.
    underWay ??= collectAll().finally(() => {
      underWay = null
    })
    tell(worker, { allMetrics: message.wantsMetrics, families: await underWay })
  }

  /** Settles when the worker listens, or ended before it did. */
  const add = (number: number, { greets = false, waitMs = REPLACE_MS.first } = {}): Promise<void> =>
    new Promise((done, fail) => {
      const startedAt = performance.now()
      const worker = cluster.fork()
      running.set(number, worker)
      let isReady = false
      worker.on('message', (message: FromWorker) => {
        if ('hears' in message)
          tell(worker, isStopping ? { stop: { drains: false } } : { start: { databaseUrl, number, greets } })
        if ('ready' in message) {
          isReady = true
          done()
        }
        void hear(worker, message)
      })
      worker.once('exit', (code, signal) => {
        running.delete(number)
        keepCounts(worker)
        if (isStopping) return done()
        // What is wrong with the settings is wrong in every worker, and it has said so.
        if (greets && !isReady) return fail(new WorkerEnded(signal ?? code))
        const isYoung = performance.now() - startedAt < REPLACE_MS.youngerThan
        const nextMs = isYoung ? Math.min(waitMs * 2, REPLACE_MS.most) : REPLACE_MS.first
        log.error({ worker: number, code, signal, again_in_ms: nextMs }, 'a worker ended; another takes its place')
        setTimeout(() => {
          if (!isStopping) void add(number, { waitMs: nextMs })
        }, nextMs)
        done()
      })
    })

  const stop = async (stop: Stop, withinMs: number) => {
    isStopping = true
    const ending = [...running.values()].map((worker) => new Promise((done) => worker.once('exit', done)))
    for (const worker of running.values()) tell(worker, { stop })
    const cut = setTimeout(() => {
      for (const worker of running.values()) worker.process.kill('SIGKILL')
    }, withinMs)
    await Promise.all(ending)
    clearTimeout(cut)
  }
  return { add, stop }
}

/** One that has just ended hears nothing any more. */
function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {})
}

/** It has told why. */
export class WorkerEnded extends Error {
  override name = 'WorkerEnded'
  constructor(how: number | string) {
    super(`the first worker ended before it was ready (${how}); what it said is above`)
  }
}
