import type { Log } from './log.js'

/** Work that is tried again and again: its trouble is logged when it begins or changes, and when it is over. */
export interface LastingTrouble {
  failed(work: string, error: unknown): void
  worked(work: string): void
}

/** While a database is away a line for every try, or for every work that needs it, would bury everything else. */
export function createLastingTrouble(log: Log): LastingTrouble {
  const known = new Map<string, string>()
  return {
    failed(work, error) {
      const reason = error instanceof Error ? error.message : String(error)
      const isTold = [...known.values()].includes(reason)
      known.set(work, reason)
      if (!isTold)
        log.warn({ work, error }, 'this failed and will be tried again; it is logged once more when it works')
    },
    worked(work) {
      const reason = known.get(work)
      if (!known.delete(work)) return
      if (![...known.values()].includes(reason ?? '')) log.info({ work, reason }, 'this works again')
    },
  }
}
