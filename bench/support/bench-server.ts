import { type ChildProcess, fork, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createTenant, readConfig } from '@countersign/server'
import type { Order } from './cycle-client.js'
import type { Measured } from './governed-cycles.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const COLLECT = new URL('./collect-garbage.mjs', import.meta.url).href
const HIGH = JSON.stringify({ scale: { write: 1e8, read: 1e8, evidence: 1e8 } })

export interface BenchServer {
  url: string
  key: string
  pid: number
  stop(): Promise<void>
}

/** The service as a user starts it, in its own process, with limits that are never reached. SIGUSR2 collects its garbage. */
export async function startBenchServer(databaseUrl: string): Promise<BenchServer> {
  const { key } = await createTenant('bench', 'scale', readConfig({ DATABASE_URL: databaseUrl }))
  const child = spawn(
    process.execPath,
    ['--import', COLLECT, `${root}packages/cli/dist/main.js`, 'start', '--port', '0'],
    {
      env: { ...process.env, DATABASE_URL: databaseUrl, COUNTERSIGN_QUOTAS: HIGH, COUNTERSIGN_LOG_LEVEL: 'warn' },
      stdio: ['ignore', 'inherit', 'pipe'],
    },
  )
  const url = await new Promise<string>((done, fail) => {
    let output = ''
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const found = /is running at (http\S+)/.exec(output)?.[1]
      if (found) done(found)
    })
    child.once('exit', () => fail(new Error(`the server did not start:\n${output}`)))
  })
  return { url, key, pid: child.pid ?? 0, stop: () => ended(child, 'SIGTERM') }
}

export interface CycleClient {
  run(order: Order): Promise<Measured>
  stop(): Promise<void>
}

export function startCycleClient(): CycleClient {
  const child = fork(fileURLToPath(new URL('./cycle-client.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] })
  return {
    run: (order) =>
      new Promise((done, fail) => {
        child.once('message', (answer: Measured | { error: string }) =>
          'error' in answer ? fail(new Error(answer.error)) : done(answer),
        )
        child.send(order)
      }),
    stop: () => ended(child, 'SIGTERM'),
  }
}

function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((done) => {
    child.once('exit', () => done())
    child.kill(signal)
  })
}
