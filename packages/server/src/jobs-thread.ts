import { parentPort } from 'node:worker_threads'
import { lowerThreadPriority } from './base/work/lower-thread-priority.js'
import { ready, type TaskReply } from './base/work/one-thread.js'
import type { Tasks } from './context/tasks.js'
import { TASKS } from './process/tasks.js'

/** The program of the thread for jobs: one task at a time. */
lowerThreadPriority()

parentPort?.on('message', async ({ name, input }: { name: keyof Tasks; input: never }) => {
  parentPort?.postMessage(await replyTo(name, input))
})

parentPort?.postMessage(ready())

async function replyTo(name: keyof Tasks, input: never): Promise<TaskReply> {
  try {
    return { ok: true, output: await TASKS[name](input) }
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error) }
  }
}
