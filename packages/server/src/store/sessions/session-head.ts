import { copyState, type SessionState } from '@countersign/engine'
import { isoTime } from '../../base/iso-time.js'
import type { SessionRow } from './session-row.js'

/** What every write of a session replaces, as it lies in `session_heads.facts`. */
export type StoredFacts = Pick<
  SessionRow,
  'hasAside' | 'ledger' | 'lastEvent' | 'allowedCalls' | 'blockedCalls' | 'lastReason'
> & { readonly updatedAt: string }

/** The facts of a row that is to be written at `row.now`: words, hashes and numbers of ours. */
export function factsText({
  hasAside,
  ledger,
  lastEvent,
  allowedCalls,
  blockedCalls,
  lastReason,
  now,
}: SessionRow): string {
  return (
    `{"hasAside":${hasAside},"ledger":{"seq":${ledger.seq},"hash":"${ledger.hash}"},"lastEvent":"${lastEvent}",` +
    `"allowedCalls":${allowedCalls},"blockedCalls":${blockedCalls},` +
    `"lastReason":${lastReason === null ? 'null' : `"${lastReason}"`},"updatedAt":"${isoTime(now)}"}`
  )
}

/** The parts of a head that a write leaves as they are unless it changes them, by their columns. */
export type HeadPart = 'state' | 'recent' | 'prepared' | 'narrowing'

export const HEAD_PARTS: readonly HeadPart[] = ['state', 'recent', 'prepared', 'narrowing']

/** What a write changes. Values of a session never change: one that is the same object has been written already. */
export function changedParts(before: SessionRow, after: SessionRow): HeadPart[] {
  const parts: HeadPart[] = []
  if (after.state !== before.state) parts.push('state')
  if (after.state.recent !== before.state.recent) parts.push('recent')
  if (after.prepared !== before.prepared) parts.push('prepared')
  if (after.lastNarrowing !== before.lastNarrowing) parts.push('narrowing')
  return parts
}

/** The values of these parts. */
export function partTexts({ state, prepared, lastNarrowing }: SessionRow, parts: readonly HeadPart[]) {
  const texts: { [Part in HeadPart]?: string | null } = {}
  for (const part of parts) {
    if (part === 'state') texts.state = stateText(state)
    else if (part === 'recent') texts.recent = textOf(state.recent)
    else if (part === 'prepared') texts.prepared = prepared === null ? null : textOf(prepared)
    else texts.narrowing = lastNarrowing === null ? null : textOf(lastNarrowing)
  }
  return texts
}

/** Without the recent calls, which most changes leave alone. */
function stateText(state: SessionState): string {
  const rest: Omit<SessionState, 'recent'> & { recent?: SessionState['recent'] | undefined } = copyState(state)
  rest.recent = undefined
  return JSON.stringify(rest)
}

const TEXTS = new WeakMap<object, string>()

/** A value's JSON. Values of a session never change, and some of them are written more than once. */
export function textOf(value: object): string {
  const known = TEXTS.get(value)
  if (known !== undefined) return known
  const text = JSON.stringify(value)
  TEXTS.set(value, text)
  return text
}
