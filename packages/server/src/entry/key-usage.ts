import type { Cache } from '../base/memories.js'
import type { Services } from '../context/context.js'
import { touchKeys } from '../store/accounts/api-keys.js'

/** Remembers which keys were used and writes it down in batches, so that no request waits for it. */
export interface KeyUsage {
  note(tenantId: string, keyId: string): void
  /** Writes what was noted, now. */
  flush(): Promise<void>
  /** Writes what was noted and stops. */
  close(): Promise<void>
}

/** The longest that a use stays unwritten. */
export const KEY_USAGE_DELAY_MS = 1_000

interface KeyUse {
  readonly tenantId: string
  readonly keyId: string
  readonly at: Date
}

const USE_BYTES = 600

/** While the database is away, uses that find no room are forgotten: the key works all the same. */
export function createKeyUsage(
  { database, clock, log }: Pick<Services, 'database' | 'clock' | 'log'>,
  noted: Cache<KeyUse>,
): KeyUsage {
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  const keep = (use: KeyUse) => noted.set(use.keyId, use, { size: USE_BYTES })

  const write = async () => {
    // In one order on every instance, so that two batches cannot wait for each other.
    const batch = [...noted.values()].sort((a, b) => (a.keyId < b.keyId ? -1 : 1))
    for (const { keyId } of batch) noted.delete(keyId)
    if (batch.length === 0) return
    try {
      await touchKeys(database.sql, batch)
    } catch (error) {
      // Noted again for the next round: the use happened, whether or not it could be written.
      for (const use of batch) if (!noted.has(use.keyId)) keep(use)
      log.warn({ error, keys: batch.length }, 'could not record when API keys were last used')
      schedule()
    }
  }

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(write)
    return writing
  }

  const schedule = () => {
    if (timer !== undefined) return
    timer = setTimeout(() => void flush(), KEY_USAGE_DELAY_MS)
    timer.unref()
  }

  return {
    note: (tenantId, keyId) => {
      keep({ tenantId, keyId, at: clock() })
      schedule()
    },
    flush,
    close: async () => {
      await flush()
      clearTimeout(timer)
    },
  }
}
