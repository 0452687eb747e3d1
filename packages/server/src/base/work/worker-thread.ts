import { Worker } from 'node:worker_threads'
import { ApiError } from '../api-error.js'
import { createFairQueue, type Waiting } from './fair-queue.js'

/** A task did not come to an end: it threw, took too long, or needed too much memory. */
export class TaskFailed extends Error {
  override name = 'TaskFailed'

  constructor(
    task: string,
    /** In words that whoever sent it can read: "it took longer than 10 seconds". */
    readonly why: string,
  ) {
    super(`${task} failed: ${why}`)
  }
}

/** The process stops. Whose task was interrupted is not to blame. */
export class ThreadClosed extends Error {
  override name = 'ThreadClosed'
}

/** By name what goes in and what comes out: plain data, which is copied. */
export type TaskTypes = { readonly [name: string]: { input: unknown; output: unknown } }

/**
 * A thread for work that takes long or that nobody can foresee: the event loop stays free for requests. It does one task
 * at a time. What takes too long or too much memory ends the thread and not the process; the next task gets a new one.
 */
export interface WorkerThread<Tasks extends TaskTypes> {
  /** Does a task when it is its turn. Tenants take turns, however many tasks each of them has. */
  run<Name extends keyof Tasks & string>(
    tenantId: string,
    name: Name,
    input: Tasks[Name]['input'],
    /** Parts of the input that are handed over instead of copied. */
    transfer?: readonly ArrayBuffer[],
  ): Promise<Tasks[Name]['output']>
  /** Ends the thread; the task that runs and those that wait fail with `ThreadClosed`. */
  close(): Promise<void>
}

export interface ThreadLimits {
  /** Of one task. */
  readonly timeLimitMs: number
  /** Of the thread's heap. */
  readonly memoryMb: number
  /** Tasks of one tenant that may wait. */
  readonly waitingPerTenant: number
}

export const THREAD_LIMITS: ThreadLimits = { timeLimitMs: 10_000, memoryMb: 256, waitingPerTenant: 16 }

interface Task extends Waiting {
  readonly name: string
  readonly input: unknown
  readonly transfer: readonly ArrayBuffer[]
  readonly done: (output: never) => void
  readonly refuse: (why: Error) => void
}

/** What the thread says when a task is done. */
export type TaskReply =
  | { readonly ok: true; readonly output: unknown }
  | { readonly ok: false; readonly error: string }
  /** The task found fault with its input: an `ApiError` for whoever sent it. */
  | { readonly ok: false; readonly refusal: Pick<ApiError, 'code' | 'extras'> }

/** `entry` is the program of the thread. It is started with the first task. */
export function createWorkerThread<Tasks extends TaskTypes>(
  entry: URL,
  limits: ThreadLimits = THREAD_LIMITS,
): WorkerThread<Tasks> {
  const queue = createFairQueue<Task>({
    what: 'large requests of this tenant',
    perOwner: limits.waitingPerTenant,
    inAll: Number.POSITIVE_INFINITY,
  })
  let thread: Worker | undefined
  let current: Task | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const next = () => {
    if (current !== undefined || isClosed) return
    current = queue.next() ?? undefined
    if (current === undefined) return
    thread ??= start()
    thread.ref()
    timer = setTimeout(() => drop(`it took longer than ${limits.timeLimitMs / 1_000} seconds`), limits.timeLimitMs)
    thread.postMessage({ name: current.name, input: current.input }, current.transfer)
  }

  const settle = (end: (task: Task) => void) => {
    clearTimeout(timer)
    const task = current
    current = undefined
    thread?.unref()
    if (task !== undefined) end(task)
    next()
  }

  /** Ends the thread with its task. */
  const drop = (why: string) => {
    void thread?.terminate()
    thread = undefined
    settle((task) => task.refuse(new TaskFailed(task.name, why)))
  }

  const start = (): Worker => {
    const { memoryMb } = limits
    const started = new Worker(entry, {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: Math.ceil(memoryMb / 8) },
    })
    const isCurrent = () => started === thread
    started.on('message', (reply: TaskReply) => {
      if (!isCurrent()) return
      settle((task) => {
        if (reply.ok) task.done(reply.output as never)
        else if ('refusal' in reply) task.refuse(new ApiError(reply.refusal.code, reply.refusal.extras))
        else task.refuse(new TaskFailed(task.name, reply.error))
      })
    })
    started.on('error', (error: NodeJS.ErrnoException) => {
      if (isCurrent())
        drop(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? `it needed more than ${memoryMb} MB` : error.message)
    })
    started.on('exit', () => {
      if (isCurrent()) drop('its thread ended')
    })
    return started
  }

  return {
    run: (tenantId, name, input, transfer = []) =>
      new Promise((done, refuse) => {
        if (isClosed) throw new ThreadClosed('the server is stopping')
        queue.requireRoom(tenantId)
        queue.add({ owner: tenantId, name, input, transfer, done, refuse })
        next()
      }),
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      const ended = thread
      thread = undefined
      for (let left = current ?? queue.next(); left !== null; left = queue.next())
        left.refuse(new ThreadClosed('the server is stopping'))
      current = undefined
      await ended?.terminate()
    },
  }
}
