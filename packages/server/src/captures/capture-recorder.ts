import type { CaptureItem } from '@countersign/protocol'
import type { Random } from '../base/crypto/secrets.js'
import type { Log } from '../base/log.js'
import type { CaptureRecorder } from '../context/context.js'
import type { Database } from '../postgres/database.js'
import { databaseTrouble } from '../postgres/database-error.js'
import { storeGovernedCaptures } from '../store/captures/captures.js'
import { saltsOf, stripCapture } from './strip-capture.js'

/** The longest that a capture stays unwritten. */
const DELAY_MS = 1_000
/** Beyond these the newest are dropped: learning can miss some, the ledger has them all. */
const MAX_WAITING = 5_000
/** After these the same captures are written again. What is stored already is known by its id. */
const IS_TEMPORARY: ReadonlySet<ReturnType<typeof databaseTrouble>> = new Set(['unavailable', 'busy'] as const)

export function createCaptureRecorder({
  database,
  random,
  log,
}: {
  readonly database: Database
  readonly random: Random
  readonly log: Log
}): CaptureRecorder {
  let waiting: { tenantId: string; item: CaptureItem }[] = []
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let writing: Promise<void> = Promise.resolve()

  const write = async () => {
    const batch = waiting
    waiting = []
    if (dropped > 0) log.warn({ dropped }, 'captures of governed sessions were dropped: too many at once')
    dropped = 0
    for (const [tenantId, items] of byTenant(batch)) {
      const salts = saltsOf(items, random)
      try {
        const stripped = items.map((item) => ({ ...stripCapture(item), governed: true }))
        await database.transaction(tenantId, (tx) => storeGovernedCaptures(tx, tenantId, stripped, salts))
      } catch (error) {
        log.warn({ error, captures: items.length }, 'captures of governed sessions could not be stored')
        if (IS_TEMPORARY.has(databaseTrouble(error))) for (const item of items) note(tenantId, item)
      }
    }
  }

  const note = (tenantId: string, item: CaptureItem) => {
    if (waiting.length >= MAX_WAITING) {
      dropped++
      return
    }
    waiting.push({ tenantId, item })
    if (timer !== undefined || isClosed) return
    timer = setTimeout(() => void flush(), DELAY_MS)
    timer.unref()
  }

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    writing = writing.then(write)
    return writing
  }

  return {
    note,
    flush,
    close: () => {
      isClosed = true
      return flush()
    },
  }
}

function byTenant(batch: readonly { tenantId: string; item: CaptureItem }[]): Map<string, CaptureItem[]> {
  const tenants = new Map<string, CaptureItem[]>()
  for (const { tenantId, item } of batch) {
    const items = tenants.get(tenantId)
    if (items === undefined) tenants.set(tenantId, [item])
    else items.push(item)
  }
  return tenants
}
