import { copyState, type SessionState } from '@countersign/engine'
import { isoTime } from '../../base/iso-time.js'
import type { SessionHead } from './session-row.js'

/** What every write of a session replaces, as it lies in `session_heads.facts`. */
export type StoredFacts = Pick<SessionHead, 'ledger' | 'lastEvent' | 'allowedCalls' | 'blockedCalls' | 'lastReason'> & {
  readonly hasSuperseded: boolean
  readonly leaseMs: number
  readonly updatedAt: string
  /** Absent in what earlier versions wrote. */
  readonly shown: ShownFacts
}

/** What lists show of a state, so that they do not read it: it may have megabytes. */
interface ShownFacts extends Pick<SessionState, 'phase' | 'labels' | 'stateVersion' | 'actualCost'> {
  /** Calls of the open step, by what is known of them. */
  readonly inDoubt: number
  readonly unresolved: number
}

function shownFacts({ phase, labels, stateVersion, actualCost, open }: SessionState): ShownFacts {
  const calls = open?.calls ?? []
  return {
    phase,
    labels,
    stateVersion,
    actualCost,
    inDoubt: calls.filter(({ state }) => state === 'in_doubt').length,
    unresolved: calls.filter(({ state }) => state !== 'resolved').length,
  }
}

/** The facts of a head that is written at `now`. */
export function factsText(head: SessionHead, now: Date): string {
  const facts: StoredFacts = {
    hasSuperseded: head.hasSuperseded,
    leaseMs: head.leaseMs,
    ledger: head.ledger,
    lastEvent: head.lastEvent,
    allowedCalls: head.allowedCalls,
    blockedCalls: head.blockedCalls,
    lastReason: head.lastReason,
    updatedAt: isoTime(now),
    shown: shownFacts(head.state),
  }
  return JSON.stringify(facts)
}

/** Without the recent calls, which most changes leave alone. */
export function stateText(state: SessionState): string {
  const rest: Omit<SessionState, 'recent'> & { recent?: SessionState['recent'] | undefined } = copyState(state)
  rest.recent = undefined
  const text = JSON.stringify(rest)
  STATE_LENGTHS.set(state, text.length)
  return text
}

const STATE_LENGTHS = new WeakMap<SessionState, number>()

/** What a part takes in memory for each character of its text: as objects, and as the text beside them. */
const BYTES_PER_CHARACTER = 3

/** About what a head takes in memory, by the lengths of its texts. Those are known from the write. */
export function headBytes({ state, prepared, lastNarrowing }: SessionHead): number {
  const length = (STATE_LENGTHS.get(state) ?? stateText(state).length) + textOf(state.recent).length
  const rest =
    (prepared === null ? 0 : textOf(prepared).length) + (lastNarrowing === null ? 0 : textOf(lastNarrowing).length)
  return (length + rest) * BYTES_PER_CHARACTER
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
