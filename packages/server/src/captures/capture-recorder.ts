import type { CaptureItem } from '@countersign/protocol'
import type { Random } from '../base/crypto/secrets.js'
import type { Log } from '../base/log.js'
import type { Budget } from '../base/memory/budget.js'
import type { CaptureRecorder } from '../context/context.js'
import type { Database } from '../postgres/database.js'
import { databaseTrouble } from '../postgres/database-error.js'
import { captureTexts, storeGovernedCaptures } from '../store/captures/captures.js'
import { saltsOf, stripCapture } from './strip-capture.js'

/** The longest that a capture stays unwritten. */
const DELAY_MS = 1_000
/** After these the same captures are written again. What is stored already is known by its id. */
const IS_TEMPORARY: ReadonlySet<ReturnType<typeof databaseTrouble>> = new Set(['unavailable', 'busy'] as const)

interface Noted {
  readonly tenantId: string
  readonly item: CaptureItem
  readonly bytes: number
}

/** Beyond its budget the newest captures of a tenant are dropped: learning can miss some, the ledger has them all. */
export function createCaptureRecorder(
  { database, random, log }: { readonly database: Database; readonly random: Random; readonly log: Log },
  budget: Pick<Budget, 'take' | 'release'>,
): CaptureRecorder {
  let waiting: Noted[] = []
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let writing: Promise<void> = Promise.resolve()

  const write = async () => {
    const batch = waiting
    waiting = []
    if (dropped > 0) log.warn({ dropped }, 'captures of governed sessions were dropped: too many at once')
    dropped = 0
    for (const [tenantId, noted] of byTenant(batch)) {
      const items = noted.map(({ item }) => item)
      const salts = saltsOf([...new Set(items.map(({ agent }) => agent))], random)
      try {
        const stripped = items.map((item) => ({ ...stripCapture(item), governed: true }))
        await database.transaction(tenantId, (tx) => storeGovernedCaptures(tx, tenantId, captureTexts(stripped), salts))
      } catch (error) {
        log.warn({ error, captures: items.length }, 'captures of governed sessions could not be stored')
        if (IS_TEMPORARY.has(databaseTrouble(error))) {
          for (const each of noted) hold(each)
          continue
        }
      }
      for (const { bytes } of noted) budget.release(tenantId, bytes)
    }
  }

  const note = (tenantId: string, item: CaptureItem) => {
    const bytes = bytesOf(item)
    if (budget.take(tenantId, bytes)) hold({ tenantId, item, bytes })
    else dropped++
  }

  const hold = (noted: Noted) => {
    waiting.push(noted)
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

function byTenant(batch: readonly Noted[]): Map<string, Noted[]> {
  const tenants = new Map<string, Noted[]>()
  for (const noted of batch) {
    const own = tenants.get(noted.tenantId)
    if (own === undefined) tenants.set(noted.tenantId, [noted])
    else own.push(noted)
  }
  return tenants
}

/** Of an item with nothing in it, and of one leaf of a flow with its sources. */
const ITEM_BYTES = 1_024
const LEAF_BYTES = 512

/** About what an item holds. Every proposal is noted, so nothing is written out to measure it. */
function bytesOf({ request, response, flows }: CaptureItem): number {
  let bytes = ITEM_BYTES + 64 * request.tools.length + (response.content?.length ?? 0)
  for (const call of response.tool_calls) bytes += 256 + (call.arguments?.length ?? 0)
  for (const flow of flows?.calls ?? []) {
    for (const leaf of flow.leaves) bytes += LEAF_BYTES * (1 + (leaf.tokens?.length ?? 0))
  }
  return bytes + LEAF_BYTES * (flows?.columns?.length ?? 0)
}
