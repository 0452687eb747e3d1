import { type ChildProcess, fork } from 'node:child_process'
import { root } from '../files/tracked-files.js'

/** A service in a process of its own that tells how long its main thread works in one piece. */
export interface WatchedService {
  readonly child: ChildProcess
  readonly url: string
  /** The longest piece since it was asked last, in milliseconds of processor time; zero below 15. */
  takePieceMs(): number
}

const WATCHER = new URL('./watch-loop.mjs', import.meta.url).href

export async function startWatchedService(
  databaseUrl: string,
  execArgv: readonly string[] = [],
): Promise<WatchedService> {
  const child = fork(`${root}packages/cli/dist/main.js`, ['start', '--port', '0'], {
    cwd: root,
    execArgv: ['--import', WATCHER, ...execArgv],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: databaseUrl, COUNTERSIGN_LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let pieceMs = 0
  child.on('message', (told: { pieceMs: number }) => {
    pieceMs = Math.max(pieceMs, told.pieceMs)
  })
  const url = await new Promise<string>((done, fail) => {
    let output = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const found = /is running at (http\S+)/.exec(output)?.[1]
      if (found) done(found)
    })
    child.once('exit', () => fail(new Error(`the service did not start:\n${output}`)))
  })
  return {
    child,
    url,
    takePieceMs: () => {
      const longest = pieceMs
      pieceMs = 0
      return longest
    },
  }
}
