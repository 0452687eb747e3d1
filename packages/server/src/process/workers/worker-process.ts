import type { Config } from '../../base/config.js'
import type { MetricFamily } from '../../base/metric-families.js'
import type { FromWorker, Stop, ToWorker, WorkerOrders } from './messages.js'

/** One worker's end of the line to the process that started it. */
export interface WorkerProcess {
  /** Null when it is to stop before it began. */
  readonly orders: Promise<WorkerOrders | null>
  /** When to stop: it was told to, or nobody is there any more to tell it. */
  readonly ended: Promise<Stop>
  /** Tells that it listens, and from then on what its metrics are. */
  ready(collect: () => Promise<readonly MetricFamily[]>): void
  /** The metrics of all workers. Null when nobody told them in time. */
  allMetrics(): Promise<readonly MetricFamily[] | null>
  /** Lets the process end. */
  close(): void
}

const ANSWER_MS = 2_000

export function openWorkerProcess(): WorkerProcess {
  const tell = (message: FromWorker) => void process.send?.(message, undefined, undefined, () => {})
  const waiting = new Map<number, (families: readonly MetricFamily[]) => void>()
  let collect: () => Promise<readonly MetricFamily[]> = async () => []
  let asked = 0
  let order: (orders: WorkerOrders | null) => void
  let end: (stop: Stop) => void
  const orders = new Promise<WorkerOrders | null>((done) => {
    order = done
  })
  const ended = new Promise<Stop>((done) => {
    end = (stop) => {
      order(null)
      done(stop)
    }
  })
  process.on('message', async (message: ToWorker) => {
    if ('start' in message) order(message.start)
    if ('stop' in message) end(message.stop)
    if ('collect' in message) tell({ collected: message.collect, families: await collect() })
    if ('allMetrics' in message) waiting.get(message.allMetrics)?.(message.families)
  })
  process.once('disconnect', () => end({ drains: false }))
  process.once('SIGTERM', () => end({ drains: true }))
  // A terminal sends it to every process; the first one tells the others.
  process.on('SIGINT', () => {})
  tell({ hears: true })
  return {
    orders,
    ended,
    ready: (read) => {
      collect = read
      tell({ ready: true })
    },
    allMetrics: () =>
      new Promise((done) => {
        const id = ++asked
        const finish = (families: readonly MetricFamily[] | null) => {
          clearTimeout(timer)
          waiting.delete(id)
          done(families)
        }
        const timer = setTimeout(() => finish(null), ANSWER_MS)
        waiting.set(id, finish)
        tell({ wantsMetrics: id })
      }),
    close: () => {
      if (process.connected) process.disconnect()
    },
  }
}

/** What is meant for the whole service is divided; memory is each worker's own, as its heap is. */
export const shareOfWorker = (config: Config): Config => ({
  ...config,
  poolSize: Math.max(4, Math.ceil(config.poolSize / config.workers)),
  maxConnections: Math.ceil(config.maxConnections / config.workers),
  maxConnectionsPerAddress: Math.ceil(config.maxConnectionsPerAddress / config.workers),
})
