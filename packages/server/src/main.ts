import { type Config, readConfig } from './base/config.js'
import { createLog } from './base/log.js'
import { openDemo } from './process/demo.js'
import { startServer } from './process/start-server.js'
import { strayVariables } from './process/stray-variables.js'
import { welcome } from './process/welcome.js'

/** Settings by their flags, as typed. */
export type Flags = Readonly<Record<string, string | undefined>>

/** Where the server's settings come from: this file alone reads the environment. */
export const configOf = (flags: Flags): Config => readConfig(process.env, flags)

/** Runs the service in this process until a signal ends it. */
export async function runServer(flags: Flags, say: (sentence: string) => void): Promise<void> {
  const config = configOf(flags)
  for (const line of strayVariables(process.env)) say(line)
  const log = createLog({ level: config.logLevel })
  // From the start: a signal that comes while PostgreSQL starts must not leave it behind.
  const ended = endSignal(say)
  const server = await startServer(config, { log, say })
  try {
    const demo = await openDemo(server.parts, server.url)
    const byNpmStart = process.env.npm_lifecycle_event === 'start'
    for (const line of welcome({ url: server.url, config, demo, byNpmStart })) say(line)
    await ended
  } finally {
    await server.close()
  }
  say('stopped')
}

function endSignal(say: (sentence: string) => void): Promise<void> {
  return new Promise((done) => {
    let ending = false
    const end = (signal: NodeJS.Signals) => {
      // A second signal comes from a person who cannot wait.
      if (ending) process.exit(1)
      ending = true
      say(`${signal}: finishing the requests in flight, then stopping`)
      done()
    }
    process.on('SIGTERM', end).on('SIGINT', end)
  })
}
