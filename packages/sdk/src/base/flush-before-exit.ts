const flushes = new Set<() => Promise<void>>()

/** Runs a flush when the program has nothing else to do. One listener serves all, and each flush is tried once. */
export function flushBeforeExit(flush: () => Promise<void>): () => void {
  if (flushes.size === 0) process.on('beforeExit', flushAll)
  flushes.add(flush)
  return () => {
    flushes.delete(flush)
    if (flushes.size === 0) process.off('beforeExit', flushAll)
  }
}

/** The event comes again when the flushes are over; without a listener then, the program ends. */
function flushAll(): void {
  process.off('beforeExit', flushAll)
  const all = [...flushes]
  flushes.clear()
  for (const flush of all) void flush()
}
