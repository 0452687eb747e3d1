import { readFileSync, readlinkSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { ApiError } from '../api-error.js'

/** The process stops. Whose task was interrupted is not to blame. */
export class ThreadClosed extends Error {
  override name = 'ThreadClosed'
}

/** A task ended its thread. The message is for whoever sent it. */
export class ThreadEnded extends Error {
  override name = 'ThreadEnded'

  constructor(
    message: string,
    /** The heap was full: of this task, or of what others left in it. */
    readonly ofMemory = false,
  ) {
    super(message)
  }
}

export interface TaskToDo {
  readonly name: string
  readonly input: unknown
}

/** What the thread says when a task is done. */
export type TaskReply =
  | { readonly ok: true; readonly output: unknown }
  | { readonly ok: false; readonly error: string }
  /** The task found fault with its input: an `ApiError` for whoever sent it. */
  | { readonly ok: false; readonly refusal: Pick<ApiError, 'code' | 'extras' | 'headers'> }

/** What the program of a thread says first: where the system tells how long the thread has had a processor, if it does. */
export interface ThreadReady {
  readonly readyWithTimes: string | null
}

/** Said by the thread itself. */
export function ready(): ThreadReady {
  try {
    return { readyWithTimes: `/proc/${readlinkSync('/proc/thread-self')}/schedstat` }
  } catch {
    return { readyWithTimes: null }
  }
}

/** What a task says before it changes anything that lasts. Whoever waits for it may no longer be told that nothing happened. */
export const WRITES = 'writes'

export interface OneThreadLimits {
  /** Of one task: the time it has a processor, where the system tells. */
  readonly timeLimitMs: number
  /** Of the thread's heap. */
  readonly memoryMb: number
}

/** One thread that does one task at a time. It starts with its first task, and again after a task has ended it. */
export interface OneThread {
  /** Throws `ThreadEnded`, or `ThreadClosed` where the process stops. */
  do(task: TaskToDo, heard: TaskEvents): Promise<TaskReply>
  /** Starts it before its first task. */
  warm(): void
  close(): Promise<void>
}

export interface TaskEvents {
  readonly begun?: () => void
  /** It says `WRITES`. */
  readonly writes?: () => void
}

interface Current extends TaskEvents {
  readonly reply: (reply: TaskReply) => void
  readonly fail: (why: Error) => void
}

/** A task that waits for the database has no processor meanwhile. Beyond so many times its limit it is given up all the same. */
const MOST_WAITING = 20

/** `data` is asked for at every start. */
export function createOneThread(
  entry: URL,
  { timeLimitMs, memoryMb }: OneThreadLimits,
  data: () => unknown = () => undefined,
): OneThread {
  let thread: Worker | undefined
  let current: Current | undefined
  let times: string | null | undefined
  let timer: NodeJS.Timeout | undefined

  /** How long the thread has had a processor. Where the system does not say, the clock has to do. */
  const usedMs = (): number => {
    if (!times) return performance.now()
    try {
      return Number(readFileSync(times, 'latin1').split(' ')[0]) / 1e6
    } catch {
      return performance.now()
    }
  }

  const begin = (task: Current) => {
    task.begun?.()
    const beganMs = performance.now()
    const usedBeforeMs = usedMs()
    const endAt = beganMs + timeLimitMs * MOST_WAITING
    const look = () => {
      const leftMs = Math.min(timeLimitMs - (usedMs() - usedBeforeMs), endAt - performance.now())
      if (leftMs > 1) timer = setTimeout(look, Math.max(leftMs, 10))
      else void drop(new ThreadEnded(`it took longer than ${timeLimitMs / 1_000} seconds`))
    }
    timer = setTimeout(look, timeLimitMs)
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
      workerData: data(),
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: Math.ceil(memoryMb / 8) },
    })
    const dropIfCurrent = (why: ThreadEnded) => {
      if (started === thread) void drop(why)
    }
    times = undefined
    started.on('message', (said: TaskReply | ThreadReady | typeof WRITES) => {
      if (started !== thread) return
      if (said === WRITES) return current?.writes?.()
      if (!('readyWithTimes' in said)) return settle((task) => task.reply(said))
      times = said.readyWithTimes
      if (current !== undefined) begin(current)
    })
    started.on('error', (error: NodeJS.ErrnoException) => {
      const ofMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      dropIfCurrent(new ThreadEnded(ofMemory ? `it needed more than ${memoryMb} MB` : error.message, ofMemory))
    })
    started.on('exit', () => dropIfCurrent(new ThreadEnded('its thread ended')))
    return started
  }

  return {
    do: ({ name, input }, heard) =>
      new Promise((reply, fail) => {
        current = { ...heard, reply, fail }
        thread ??= start()
        thread.ref()
        if (times !== undefined) begin(current)
        thread.postMessage({ name, input })
      }),
    warm: () => {
      thread ??= start()
      if (current === undefined) thread.unref()
    },
    close: async () => {
      await drop(new ThreadClosed('the server is stopping'))
    },
  }
}
