import { type Plan, type SessionState, snapshotOf } from '@countersign/engine'
import type { NarrowingSnapshot, StateSnapshot } from '@countersign/protocol'

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

export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}
