import { readlinkSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { basename } from 'node:path'

/**
 * Where cores are scarce, this thread waits for those that answer requests. Linux gives a thread a priority of its own;
 * elsewhere it stays as it is.
 */
export function giveWay(): void {
  try {
    const threadId = Number(basename(readlinkSync('/proc/thread-self')))
    setPriority(threadId, Math.max(getPriority(threadId), constants.priority.PRIORITY_BELOW_NORMAL))
  } catch {
    // Not Linux, or not allowed.
  }
}
