import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A program with the SDK in a process of its own. Each step resolves to what it gave, and rejects with what it threw. */
export interface SdkProcess {
  readonly pid: number
  open(id: string, options: object): Promise<void>
  prepare(id: string): Promise<void>
  /** Proposes these calls, and resolves to their verdicts. */
  propose(id: string, ...calls: string[]): Promise<string[]>
  /** Opens the session and gets these calls allowed. */
  begin(id: string, options: object, ...calls: string[]): Promise<string[]>
  /** Resolves to whether the tool ran. */
  run(id: string, call: string): Promise<boolean>
  /** The ids and states of its questions to people. */
  questions(id: string): Promise<[id: string, state: string][]>
  /** Resolves to whether the tool ran. */
  resume(id: string, question: string): Promise<boolean>
  flush(id: string): Promise<void>
  close(id: string): Promise<void>
  /** It stands still, in the middle of whatever it does. */
  pause(): void
  goOn(): void
  /** As `kill -9` does. */
  kill(): Promise<void>
}

const PROGRAM = fileURLToPath(new URL('./sdk-program.mjs', import.meta.url))

interface Answer {
  readonly number: number
  readonly value?: unknown
  readonly failed?: string
}

export async function startSdkProcess(): Promise<SdkProcess> {
  const child = fork(PROGRAM, { env: { PATH: process.env.PATH ?? '' } })
  const exit = once(child, 'exit')
  const waiting = new Map<number, (answer: Answer) => void>()
  child.on('message', (answer: Answer) => waiting.get(answer.number)?.(answer))
  await Promise.race([new Promise((started) => waiting.set(0, started)), exit])
  const { pid } = child
  if (pid === undefined || child.exitCode !== null) throw new Error('the program with the SDK did not start')
  let last = 0
  const step = <Value>(name: string, given: object) =>
    new Promise<Value>((done, fail) => {
      const number = ++last
      waiting.set(number, ({ value, failed }) =>
        failed === undefined ? done(value as Value) : fail(new Error(failed)),
      )
      child.send({ number, step: name, given })
    })
  const open = (id: string, options: object) => step<void>('open', { ...options, id })
  const prepare = (id: string) => step<void>('prepare', { id })
  const propose = (id: string, ...calls: string[]) => step<string[]>('propose', { id, calls })
  return {
    pid,
    open,
    prepare,
    propose,
    async begin(id, options, ...calls) {
      await open(id, options)
      await prepare(id)
      return propose(id, ...calls)
    },
    run: (id, call) => step('run', { id, call }),
    questions: (id) => step('questions', { id }),
    resume: (id, question) => step('resume', { id, question }),
    flush: (id) => step('flush', { id }),
    close: (id) => step('close', { id }),
    pause: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
    async kill() {
      child.kill('SIGKILL')
      await exit
    },
  }
}
