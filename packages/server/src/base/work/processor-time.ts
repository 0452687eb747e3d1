import { readFileSync } from 'node:fs'

/**
 * How long this thread has had a processor, in milliseconds. Where others keep the processors busy, the clock tells
 * little about it. Linux says it for each thread; elsewhere the clock has to do.
 */
export function processorMs(): number {
  try {
    const nanoseconds = Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0])
    return nanoseconds / 1e6
  } catch {
    return performance.now()
  }
}
