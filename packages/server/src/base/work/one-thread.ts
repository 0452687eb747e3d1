import { readFileSync, readlinkSync } from 'node:fs'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** The process stops. Whose task was interrupted is not to blame. */
export class ThreadClosed extends Error {
  override name = 'ThreadClosed'
}

/** A task ended its thread. The message is for its sender. */
export class ThreadEnded extends Error {
  override name = 'ThreadEnded'

  constructor(
    message: string,
    /** What there was too much of; null: it broke. The heap may be full of what others left in it. */
    readonly over: 'time' | 'memory' | null,
  ) {
    super(message)
  }
}

export interface TaskToDo {
  readonly name: string
  readonly input: unknown
}

/** What the thread says when a task is done. */
export type TaskReply = { readonly ok: true; readonly output: unknown } | { readonly ok: false; readonly error: string }

/** What the program of a thread says first: where the system tells how long the thread has had a processor, if it does. */
export interface ThreadReady {
  readonly readyWithTimes: string | null
}

/** Said by the thread itself. */
export function ready(): ThreadReady {
  try {
    const times = `/proc/${readlinkSync('/proc/thread-self')}/schedstat`
    // Some kernels have the file, and write zeros into it.
    return { readyWithTimes: readFileSync(times, 'latin1').startsWith('0 ') ? null : times }
  } catch {
    return { readyWithTimes: null }
  }
}

/** What a task says before it changes anything that lasts. From then on its sender may not be told that nothing happened. */
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
const START_MS = 60_000

export interface ThreadStart {
  /** Asked for at every start. */
  readonly data?: () => unknown
  /** Default: nothing of the process. */
  readonly env?: WorkerOptions['env']
}

export function createOneThread(
  entry: URL,
  { timeLimitMs, memoryMb }: OneThreadLimits,
  { data = () => undefined, env = {} }: ThreadStart = {},
): OneThread {
  let thread: Worker | undefined
  let current: Current | undefined
  let times: string | null | undefined
  let timer: NodeJS.Timeout | undefined
  /** Why it is being ended. What it said before is still heard. */
  let ending: ThreadEnded | undefined

  /** How long the thread has had a processor. Where the system does not say, the clock has to do. */
  const usedMs = (): number => {
    if (!times) return performance.now()
    try {
      return Number(readFileSync(times, 'latin1').split(' ')[0]) / 1e6
    } catch {
      // The clock alone ends it then.
      return 0
    }
  }

  const begin = (task: Current) => {
    clearTimeout(timer)
    task.begun?.()
    const beganMs = performance.now()
    const usedBeforeMs = usedMs()
    const endAt = beganMs + timeLimitMs * MOST_WAITING
    const look = () => {
      const leftMs = Math.min(timeLimitMs - (usedMs() - usedBeforeMs), endAt - performance.now())
      if (leftMs > 1) timer = setTimeout(look, Math.max(leftMs, 10))
      else end(new ThreadEnded(`it took longer than ${timeLimitMs / 1_000} seconds`, 'time'))
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

  const end = (why: ThreadEnded) => {
    ending ??= why
    void thread?.terminate()
  }

  /** Ends the thread with its task. */
  const drop = (why: Error): Promise<unknown> => {
    const ended = thread?.terminate()
    thread = undefined
    ending = undefined
    settle((task) => task.fail(why))
    return Promise.resolve(ended)
  }

  const start = (): Worker => {
    const started = new Worker(entry, {
      env,
      execArgv: [],
      workerData: data(),
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: Math.ceil(memoryMb / 8) },
    })
    times = undefined
    started.on('message', (said: TaskReply | ThreadReady | typeof WRITES) => {
      if (started !== thread) return
      if (said === WRITES) return current?.writes?.()
      if (ending !== undefined) return
      if (!('readyWithTimes' in said)) return settle((task) => task.reply(said))
      times = said.readyWithTimes
      if (current !== undefined) begin(current)
    })
    started.on('error', (error: NodeJS.ErrnoException) => {
      if (started !== thread) return
      const ofMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      const why = ofMemory ? `it needed more than ${memoryMb} MB` : error.message
      ending ??= new ThreadEnded(why, ofMemory ? 'memory' : null)
    })
    started.on('exit', () => {
      if (started === thread) void drop(ending ?? new ThreadEnded('its thread ended', null))
    })
    return started
  }

  return {
    do: ({ name, input }, heard) =>
      new Promise((reply, fail) => {
        current = { ...heard, reply, fail }
        thread ??= start()
        thread.ref()
        if (times !== undefined) begin(current)
        else timer = setTimeout(() => end(new ThreadEnded('its thread did not start', null)), START_MS)
        try {
          thread.postMessage({ name, input })
        } catch (error) {
          settle((task) => task.fail(error as Error))
        }
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
