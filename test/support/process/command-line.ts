import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { root } from '../files/tracked-files.js'

/** Compiles what changed, since the command line runs from `dist`; `npm test` did so before the tests. */
export function buildOnce(project = '.'): void {
  if (process.env.COUNTERSIGN_TEST_BUILT === 'yes') return
  execFileSync(process.execPath, [`${root}scripts/build-packages.mjs`, project], { cwd: root, stdio: 'inherit' })
}

export interface Command {
  child: ChildProcess
  pid: number
  /** What it wrote so far, to both outputs. */
  output(): string
  /** Waits for a line that matches and returns the match. */
  says(pattern: RegExp, withinMs?: number): Promise<RegExpExecArray>
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals | null>
}

/** Runs `countersign ARGS` in a process of its own. */
export function countersign(args: readonly string[], env: Record<string, string> = {}): Command {
  const child = spawn(process.execPath, [`${root}packages/cli/dist/main.js`, ...args], {
    cwd: root,
    // No load balancer watches it.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, COUNTERSIGN_DRAIN_SECONDS: '0', ...env },
  })
  let output = ''
  const listeners = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
      for (const listener of listeners) listener()
    })
  }
  const ended = new Promise<number | NodeJS.Signals | null>((done) =>
    child.once('close', (code, signal) => done(signal ?? code)),
  )
  const says = (pattern: RegExp, withinMs = 180_000) =>
    new Promise<RegExpExecArray>((done, fail) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer)
        listeners.delete(look)
        finish()
      }
      const look = () => {
        const found = pattern.exec(output)
        if (found) settle(() => done(found))
      }
      const missed = (why: string) => settle(() => fail(new Error(`${why} ${pattern}; it said:\n${output}`)))
      const timer = setTimeout(() => missed('the command did not say in time'), withinMs)
      void ended.then(() => setImmediate(() => missed('the command ended without saying')))
      listeners.add(look)
      look()
    })
  if (child.pid === undefined) throw new Error('the command did not start')
  return { child, pid: child.pid, output: () => output, says, ended }
}
