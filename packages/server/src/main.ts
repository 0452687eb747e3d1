import cluster from 'node:cluster'
import { type Config, readConfig } from './base/config.js'
import { createLog } from './base/log.js'
import { renderFamilies } from './base/metric-families.js'
import type { Metrics } from './base/metrics.js'
import { openDemo } from './process/demo.js'
import { type RunningServer, startServer } from './process/start-server.js'
import { strayVariables } from './process/stray-variables.js'
import { welcome } from './process/welcome.js'
import { runWorkers } from './process/workers/run-workers.js'
import { openWorkerProcess, shareOfWorker } from './process/workers/worker-process.js'

/** Settings by their flags, as typed. */
export type Flags = Readonly<Record<string, string | undefined>>

/** Where the server's settings come from: this file alone reads the environment. */
export const configOf = (flags: Flags): Config => readConfig(process.env, flags)

/** Runs the service until a signal ends it: in this process, or in as many workers as are wanted. */
export async function runServer(flags: Flags, say: (sentence: string) => void): Promise<void> {
  const config = configOf(flags)
  if (cluster.isWorker) return runWorker(config, say)
  for (const line of strayVariables(process.env)) say(line)
  const log = createLog({ level: config.logLevel })
  // From the start: a signal that comes while PostgreSQL starts must not leave it behind.
  const ended = endSignal(config, say)
  if (config.workers > 1) await runWorkers(config, { log, say, drains: ended.then(isDrained) })
  else {
    const server = await startServer(config, { log, say, terminal: terminalOf(say) })
    try {
      await greet(server, config, say)
      if (isDrained(await ended)) await server.drain()
    } finally {
      await server.close()
    }
  }
  say('stopped')
}

/** One of several processes. What it is to do comes from the first. */
async function runWorker(config: Config, say: (sentence: string) => void): Promise<void> {
  const worker = openWorkerProcess()
  try {
    const orders = await worker.orders
    if (orders === null) return
    const { databaseUrl, number, greets } = orders
    const log = createLog({ level: config.logLevel }).with({ worker: number })
    const metricsPage = async (own: Metrics) => renderFamilies((await worker.allMetrics()) ?? (await own.collect()))
    const server = await startServer(shareOfWorker(config), {
      log,
      say,
      terminal: terminalOf(say),
      databaseUrl,
      metricsPage,
    })
    try {
      if (greets) await greet(server, config, say)
      worker.ready(server.parts.metrics.collect)
      if ((await worker.ended).drains) await server.drain()
    } finally {
      await server.close()
    }
  } finally {
    worker.close()
  }
}

/** Where standard error is a file or a pipe, what is said there stands beside the log and is kept as long. */
const terminalOf = (say: (sentence: string) => void) => (process.stderr.isTTY ? say : undefined)

async function greet({ parts, url }: RunningServer, config: Config, say: (sentence: string) => void): Promise<void> {
  const demo = await openDemo(parts, url)
  const byNpmStart = process.env.npm_lifecycle_event === 'start'
  for (const line of welcome({ url, config, demo, byNpmStart })) say(line)
}

/** SIGINT comes from a person at a terminal, whom no load balancer keeps waiting. */
const isDrained = (signal: NodeJS.Signals): boolean => signal === 'SIGTERM'

function endSignal({ drainSeconds }: Config, say: (sentence: string) => void): Promise<NodeJS.Signals> {
  return new Promise((done) => {
    let ending = false
    const end = (signal: NodeJS.Signals) => {
      // A second signal comes from a person who cannot wait.
      if (ending) process.exit(1)
      ending = true
      const first =
        isDrained(signal) && drainSeconds > 0 ? `not ready any more, serving for another ${drainSeconds} s, then ` : ''
      say(`${signal}: ${first}finishing the requests in flight, then stopping`)
      done(signal)
    }
    process.on('SIGTERM', end).on('SIGINT', end)
  })
}
