import { readlinkSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { basename } from 'node:path'

/**
 * Lowers this thread's scheduling priority, so that request handling wins when cores are scarce. Linux only: elsewhere
 * threads have no priority of their own.
 */
export function lowerThreadPriority(): void {
  try {
    const threadId = Number(basename(readlinkSync('/proc/thread-self')))
    setPriority(threadId, Math.max(getPriority(threadId), constants.priority.PRIORITY_BELOW_NORMAL))
  } catch {
    // Not Linux, or not allowed.
  }
}
