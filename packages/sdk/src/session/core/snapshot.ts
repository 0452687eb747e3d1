import { snapshotOf } from '@countersign/engine'
import type { StateSnapshot } from '@countersign/protocol'
import { deepFreeze } from '../../base/deep-freeze.js'
import type { SessionContext } from './session-context.js'

/** The state as the program may see it: a frozen copy, with what only the client knows. */
export function sessionSnapshot({ authority, settings, notes }: SessionContext): StateSnapshot {
  const { current, plan, facts } = authority()
  const { status, unguardedCalls } = facts()
  const about = { sessionId: settings.sessionId, lastNarrowing: notes.narrowingSnapshot() }
  const snapshot = structuredClone(snapshotOf(current().state(), plan, about))
  return deepFreeze({
    ...snapshot,
    killed: snapshot.killed || status === 'KILLED',
    totalUnguardedCalls: snapshot.totalUnguardedCalls + unguardedCalls,
  })
}
