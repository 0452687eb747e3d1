import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { Session } from '@countersign/sdk'
import { createLineReader, MAX_MESSAGE_BYTES } from './lines.js'
import { errorFor, INVALID_REQUEST, writeMessage } from './message.js'
import type { DefinitionPins } from './pins/definition-pins.js'
import { createRelay } from './relay.js'

export interface StdioProxyOptions {
  /** The same session at every call. Opened when it is first needed. */
  readonly session: () => Session<unknown>
  /** Closes the session, if it was opened. */
  closeSession(): Promise<void>
  /** As contracts name the server; null where they name its tools alone. */
  readonly server: string | null
  readonly pins: DefinitionPins
  readonly onTools: (tools: readonly string[]) => void
  /** Only calls that a model proposed in the session are run. */
  readonly requiresProposal: boolean
  /** The server's program and its arguments. */
  readonly command: readonly [string, ...string[]]
  readonly env: NodeJS.ProcessEnv
  /** From and to the host. */
  readonly input: Readable
  readonly output: Writable
  /** One line for the operator. */
  note(sentence: string): void
  /** Ends the proxy as the end of the input does. */
  readonly signal: AbortSignal
}

/** A server that does not end by itself is given this long, twice. */
const GRACE_MS = 3_000

/** Starts a server and stands between it and the host until one of them ends. Resolves to the exit code. */
export async function runStdioProxy(options: StdioProxyOptions): Promise<number> {
  const { input, output, note, command, env } = options
  const [program, ...args] = command
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const relay = createRelay({
    ...options,
    toHost: (text) => writeLine(output, text, child.stdout),
    toServer: (text) => writeLine(child.stdin, text, input),
  })
  const fromHost = createLineReader(relay.fromHost, () =>
    output.write(`${writeMessage(errorFor(null, INVALID_REQUEST, TOO_LONG))}\n`),
  )
  const fromServer = createLineReader(relay.fromServer, () => {
    // It is unknown which request it answered, and that one would wait for ever.
    note(`the server was stopped: ${TOO_LONG}`)
    child.kill('SIGKILL')
  })
  // A server that closed its input is noticed by its end.
  child.stdin.on('error', () => {})
  output.on('error', () => child.stdin.end())
  child.stdout.on('data', fromServer.take)
  input.on('data', fromHost.take)

  const ended = endOf(child, program)
  const hostLeft = new Promise<'host'>((resolve) => {
    for (const event of ['end', 'close', 'error']) input.once(event, () => resolve('host'))
    options.signal.addEventListener('abort', () => resolve('host'), { once: true })
  })
  const first = await Promise.race([ended, hostLeft])
  if (first === 'host') await stop(child, ended)
  const { why, code } = await ended
  relay.serverEnded(why)
  await relay.whenIdle()
  // Until then a call is answered: there is no server any more.
  await options.closeSession()
  // A host that is not told holds its end open, and with it this process.
  input.off('data', fromHost.take).destroy()
  if (first === 'host') return 0
  note(why)
  return code === 0 ? 0 : 1
}

/** A side that does not read keeps the other from writing. */
function writeLine(to: Writable, text: string, source: Readable): void {
  if (!to.writable || to.write(`${text}\n`) || source.isPaused()) return
  source.pause()
  to.once('drain', () => source.resume())
}

const TOO_LONG = `a message may have at most ${MAX_MESSAGE_BYTES / 1024 / 1024} MB`

interface End {
  readonly why: string
  readonly code: number | null
}

function endOf(child: ChildProcess, program: string): Promise<End> {
  return new Promise((resolve) => {
    child.once('error', (error) => {
      resolve({ why: `the server ${program} could not be started: ${error.message}`, code: 1 })
    })
    const end = (code: number | null, signal: NodeJS.Signals | null): void =>
      resolve({ why: `the server ${program} ended (${signal ?? `exit code ${code}`})`, code })
    // What the server wrote before it ended is still to be read.
    child.once('close', end)
    // A process that it started may hold its output open for good.
    child.once('exit', (code, signal) => void setTimeout(end, GRACE_MS, code, signal))
  })
}

/** As hosts do it: the end of its input tells a server to stop; one that does not is stopped. */
async function stop(child: ChildProcess, ended: Promise<End>): Promise<void> {
  child.stdin?.end()
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), GRACE_MS)
    })
    const which = await Promise.race([ended, late])
    clearTimeout(timer)
    if (which !== 'late') return
    child.kill(signal)
  }
}
