import { randomBytes } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { lowerThreadPriority } from './base/work/lower-thread-priority.js'
import { ready, type TaskReply, type ThreadReady, WRITES } from './base/work/one-thread.js'
import type { IsolatedRequest } from './context/isolation.js'
import { createIsolatedRuntime } from './process/isolated-runtime.js'
import type { IsolatedStart } from './process/isolation.js'

/** The program of a thread that answers requests, one at a time (decision 0010). */
const start: IsolatedStart = workerData
if (start.isNiced) lowerThreadPriority()

const say = (said: TaskReply | ThreadReady | typeof WRITES) => parentPort?.postMessage(said)

const { answer } = createIsolatedRuntime(start, { random: randomBytes, onWrite: () => say(WRITES) })

parentPort?.on('message', async ({ input }: { input: IsolatedRequest }) => {
  say({ ok: true, output: await answer(input) })
})

say(ready())
