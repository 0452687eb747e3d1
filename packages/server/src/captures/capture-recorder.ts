import type { CaptureItem } from '@countersign/protocol'
import type { Random } from '../base/crypto/secrets.js'
import { groupBy } from '../base/group-by.js'
import type { Log } from '../base/log.js'
import type { CaptureRecorder } from '../context/context.js'
import type { Database } from '../postgres/database.js'
import { databaseTrouble } from '../postgres/database-error.js'
import { captureTexts, insertCaptures, type NewCapture } from '../store/captures/captures.js'
import { heldBytes } from './held-bytes.js'
import { saltsOf, stripCapture } from './strip-capture.js'
import type { WaitingBytes } from './waiting-bytes.js'

/** The longest that a capture stays unwritten. */
const DELAY_MS = 1_000
/** After these the same captures are written again. What is stored already is known by its id. */
const IS_TEMPORARY: ReadonlySet<ReturnType<typeof databaseTrouble>> = new Set(['unavailable', 'busy'] as const)

interface Noted {
  readonly tenantId: string
  /** Stripped to its level: what that does not allow is not held either. */
  readonly capture: NewCapture
  readonly bytes: number
}

/** Beyond the bound the newest captures are dropped: learning can miss some, the ledger has them all. */
export function createCaptureRecorder(
  { database, random, log }: { readonly database: Database; readonly random: Random; readonly log: Log },
  waitingBytes: Pick<WaitingBytes, 'take' | 'release'>,
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
    for (const [tenantId, noted] of groupBy(batch, (each) => each.tenantId)) {
      const captures = noted.map(({ capture }) => capture)
      const salts = saltsOf([...new Set(captures.map(({ agent }) => agent))], random)
      try {
        const texts = captureTexts(captures)
        await database.single(tenantId, (sql) => insertCaptures(sql, tenantId, texts, { salts, governed: true }))
      } catch (error) {
        log.warn({ error, captures: captures.length }, 'captures of governed sessions could not be stored')
        if (IS_TEMPORARY.has(databaseTrouble(error))) {
          for (const each of noted) hold(each)
          continue
        }
      }
      for (const { bytes } of noted) waitingBytes.release(tenantId, bytes)
    }
  }

  const note = (tenantId: string, item: CaptureItem) => {
    const capture = { ...stripCapture(item), governed: true }
    const bytes = heldBytes(capture)
    if (waitingBytes.take(tenantId, bytes)) hold({ tenantId, capture, bytes })
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
