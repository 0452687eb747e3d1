import { copyState, type SessionState } from '@countersign/engine'
import type { LedgerHead, NarrowingSnapshot } from '@countersign/protocol'
import { isoTime } from '../iso-time.js'
import type { PreparedRequest } from './prepared-requests.js'
import type { SessionRow } from './sessions.js'

/** What every write of a session replaces, as it lies in `session_heads.head`. */
export interface StoredHead {
  readonly state: SessionState
  readonly prepared: PreparedRequest | null
  readonly lastNarrowing: NarrowingSnapshot | null
  /** Whether any prepared request was ever set aside. */
  readonly hasAside: boolean
  readonly ledger: LedgerHead
  readonly lastEvent: string
  readonly allowedCalls: number
  readonly blockedCalls: number
  readonly lastReason: string | null
  readonly updatedAt: string
}

/** The head of a row that is to be written at `row.now`. Besides its parts it holds words, hashes and numbers of ours. */
export function headText(row: SessionRow): string {
  const { ledger, lastReason } = row
  return (
    `{"state":${stateText(row.state)},"prepared":${textOf(row.prepared)},"lastNarrowing":${textOf(row.lastNarrowing)},` +
    `"hasAside":${row.hasAside},"ledger":{"seq":${ledger.seq},"hash":"${ledger.hash}"},"lastEvent":"${row.lastEvent}",` +
    `"allowedCalls":${row.allowedCalls},"blockedCalls":${row.blockedCalls},` +
    `"lastReason":${lastReason === null ? 'null' : `"${lastReason}"`},"updatedAt":"${isoTime(row.now)}"}`
  )
}

/** A value's JSON. Values of a session never change, and most of them are written again by the requests that follow. */
export const textOf = (value: object | null): string => (value === null ? 'null' : remembered(value, JSON.stringify))

const stateText = (state: SessionState): string => remembered(state, writeState)

/** The newest calls are most of a state, and all but one of them were in the state before. */
function writeState(state: SessionState): string {
  const rest: { recent: SessionState['recent'] | undefined } = copyState(state)
  rest.recent = undefined
  return `{"recent":[${remembered(state.recent, writeItems)}],${JSON.stringify(rest).slice(1)}`
}

const writeItems = (items: readonly object[]): string => items.map(textOf).join()

const TEXTS = new WeakMap<object, string>()

function remembered<Value extends object>(value: Value, write: (value: Value) => string): string {
  const known = TEXTS.get(value)
  if (known !== undefined) return known
  const text = write(value)
  TEXTS.set(value, text)
  return text
}
