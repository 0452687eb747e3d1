// Loaded into the service: tells the benchmark how long its main thread worked without looking at its connections, in
// milliseconds of processor time, so that a busy machine finds the same as an idle one. Where the system does not say
// (other than Linux), it is the time that went by.
import { openSync, readSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const LOOK_EVERY_MS = 3
const WORTH_TELLING_MS = 15

if (isMainThread && process.send !== undefined) {
  process.channel?.unref()
  const usedMs = processorTime() ?? (() => performance.now())
  let before = usedMs()
  setInterval(() => {
    const now = usedMs()
    if (now - before > WORTH_TELLING_MS) process.send({ pieceMs: now - before })
    before = now
  }, LOOK_EVERY_MS).unref()
}

/** Null where the system does not tell the processor time of a thread. */
function processorTime() {
  try {
    const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
    const buffer = Buffer.alloc(64)
    return () => {
      const length = readSync(file, buffer, 0, buffer.length, 0)
      return Number(buffer.toString('latin1', 0, length).split(' ')[0]) / 1e6
    }
  } catch {
    return null
  }
}
