import { type Config, readConfig } from './base/config.js'
import { createLog } from './base/log.js'
import { openDemo } from './process/demo.js'
import { type RunningServer, startServer } from './process/start-server.js'
import { strayVariables } from './process/stray-variables.js'
import { welcome } from './process/welcome.js'

/** Settings by their flags, as typed. */
export type Flags = Readonly<Record<string, string | undefined>>

/** Where the server's settings come from: this file alone reads the environment. */
export const configOf = (flags: Flags): Config => readConfig(process.env, flags)

/** Runs the service until a signal ends it. */
export async function runServer(flags: Flags, say: (sentence: string) => void): Promise<void> {
  const config = configOf(flags)
  for (const line of strayVariables(process.env)) say(line)
  const log = createLog({ level: config.logLevel })
  // From the start: a signal that comes while PostgreSQL starts must not leave it behind.
  const ended = endSignal(config, say)
  const server = await startServer(config, { log, say, terminal: terminalOf(say) })
  try {
    await greet(server, config, say)
    if (isDrained(await ended)) await server.drain()
  } finally {
    await server.close()
  }
  say('stopped')
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
