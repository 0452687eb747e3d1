import { isoTime } from '../iso-time.js'
import type { SessionRow } from './sessions.js'

/** What every write of a session replaces, as it lies in `session_heads.head`. */
export type StoredHead = Pick<
  SessionRow,
  | 'state'
  | 'prepared'
  | 'lastNarrowing'
  | 'hasAside'
  | 'ledger'
  | 'lastEvent'
  | 'allowedCalls'
  | 'blockedCalls'
  | 'lastReason'
> & { readonly updatedAt: string }

/** The head of a row that is to be written at `row.now`. Besides its parts it holds words, hashes and numbers of ours. */
export function headText(row: SessionRow): string {
  const { ledger, lastReason } = row
  return (
    `{"state":${textOf(row.state)},"prepared":${textOf(row.prepared)},"lastNarrowing":${textOf(row.lastNarrowing)},` +
    `"hasAside":${row.hasAside},"ledger":{"seq":${ledger.seq},"hash":"${ledger.hash}"},"lastEvent":"${row.lastEvent}",` +
    `"allowedCalls":${row.allowedCalls},"blockedCalls":${row.blockedCalls},` +
    `"lastReason":${lastReason === null ? 'null' : `"${lastReason}"`},"updatedAt":"${isoTime(row.now)}"}`
  )
}

const TEXTS = new WeakMap<object, string>()

/** A value's JSON. Values of a session never change, and most of them are written again by the requests that follow. */
export function textOf(value: object | null): string {
  if (value === null) return 'null'
  const known = TEXTS.get(value)
  if (known !== undefined) return known
  const text = JSON.stringify(value)
  TEXTS.set(value, text)
  return text
}
