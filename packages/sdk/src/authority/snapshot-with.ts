import { type Plan, type SessionState, snapshotOf } from '@countersign/engine'
import type { NarrowingSnapshot, StateSnapshot } from '@countersign/protocol'
import { deepFreeze } from '../base/deep-freeze.js'

export interface SnapshotFacts {
  readonly sessionId: string
  readonly lastNarrowing: NarrowingSnapshot | null
  readonly killed: boolean
  readonly unguardedCalls: number
}

/** The state as the program may see it: a frozen copy, with what only the client knows. */
export function snapshotWith(state: SessionState, plan: Plan, facts: SnapshotFacts): StateSnapshot {
  const { sessionId, lastNarrowing, killed, unguardedCalls } = facts
  const snapshot = structuredClone(snapshotOf(state, plan, { sessionId, lastNarrowing }))
  return deepFreeze({
    ...snapshot,
    killed: snapshot.killed || killed,
    totalUnguardedCalls: snapshot.totalUnguardedCalls + unguardedCalls,
  })
}
