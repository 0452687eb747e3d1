import { Worker } from 'node:worker_threads'
import type { ApiError } from '../api-error.js'

/** The process stops. Whose task was interrupted is not to blame. */
export class ThreadClosed extends Error {
  override name = 'ThreadClosed'
}

/** A task ended its thread: it took too long or needed too much memory. The message is for whoever sent it. */
export class ThreadEnded extends Error {
  override name = 'ThreadEnded'
}

export interface TaskToDo {
  readonly name: string
  readonly input: unknown
  /** Parts of the input that are handed over instead of copied. */
  readonly transfer: readonly ArrayBuffer[]
}

/** What the thread says when a task is done. */
export type TaskReply =
  | { readonly ok: true; readonly output: unknown }
  | { readonly ok: false; readonly error: string }
  /** The task found fault with its input: an `ApiError` for whoever sent it. */
  | { readonly ok: false; readonly refusal: Pick<ApiError, 'code' | 'extras'> }

/** What the program of a thread says first. The time that it takes to start is not that of a task. */
export const READY = 'ready'

export interface OneThreadLimits {
  /** Of one task. */
  readonly timeLimitMs: number
  /** Of the thread's heap. */
  readonly memoryMb: number
}

/** One thread that does one task at a time. It starts with its first task, and again after a task has ended it. */
export interface OneThread {
  /** Calls `begun` when the thread is ready. Throws `ThreadEnded`, or `ThreadClosed` where the process stops. */
  do(task: TaskToDo, begun: () => void): Promise<TaskReply>
  close(): Promise<void>
}

interface Current {
  readonly begun: () => void
  readonly reply: (reply: TaskReply) => void
  readonly fail: (why: Error) => void
}

export function createOneThread(entry: URL, { timeLimitMs, memoryMb }: OneThreadLimits): OneThread {
  let thread: Worker | undefined
  let current: Current | undefined
  let isReady = false
  let timer: NodeJS.Timeout | undefined

  const begin = (task: Current) => {
    task.begun()
    const tooLong = new ThreadEnded(`it took longer than ${timeLimitMs / 1_000} seconds`)
    timer = setTimeout(() => void drop(tooLong), timeLimitMs)
  }

  const settle = (end: (task: Current) => void) => {
    clearTimeout(timer)
    const task = current
    current = undefined
    thread?.unref()
    if (task !== undefined) end(task)
  }

  /** Ends the thread with its task. */
  const drop = (why: Error): Promise<unknown> => {
    const ended = thread?.terminate()
    thread = undefined
    settle((task) => task.fail(why))
    return Promise.resolve(ended)
  }

  const start = (): Worker => {
    const started = new Worker(entry, {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: Math.ceil(memoryMb / 8) },
    })
    const dropIfCurrent = (why: string) => {
      if (started === thread) void drop(new ThreadEnded(why))
    }
    isReady = false
    started.on('message', (said: TaskReply | typeof READY) => {
      if (started !== thread) return
      if (said !== READY) return settle((task) => task.reply(said))
      isReady = true
      if (current !== undefined) begin(current)
    })
    started.on('error', (error: NodeJS.ErrnoException) =>
      dropIfCurrent(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? `it needed more than ${memoryMb} MB` : error.message),
    )
    started.on('exit', () => dropIfCurrent('its thread ended'))
    return started
  }

  return {
    do: ({ name, input, transfer }, begun) =>
      new Promise((reply, fail) => {
        current = { begun, reply, fail }
        thread ??= start()
        thread.ref()
        if (isReady) begin(current)
        thread.postMessage({ name, input }, transfer)
      }),
    close: async () => {
      await drop(new ThreadClosed('the server is stopping'))
    },
  }
}
