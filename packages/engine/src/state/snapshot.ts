import type { JsonValue, NarrowingSnapshot, StateSnapshot } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import type { SessionState } from './state.js'

/** The redacted view of a session, named as in the specification. Counts are of committed calls. */
export function snapshotOf(
  state: SessionState,
  plan: Plan,
  about: { readonly sessionId: string; readonly lastNarrowing: NarrowingSnapshot | null },
): StateSnapshot {
  return {
    sessionId: about.sessionId,
    agent: state.agent,
    principal: null,
    startedAt: state.startedAt,
    stateVersion: state.stateVersion,
    controlRevision: state.controlRevision,
    currentPhase: state.phase,
    totalStepCount: state.stateVersion,
    totalToolCalls: Object.values(state.committed).reduce((sum, count) => sum + count, 0),
    totalCost: Number(state.totalCost),
    actualCost: Number(state.actualCost),
    toolCallCounts: { ...state.committed },
    forbiddenTools: forbiddenTools(state, plan),
    satisfiedPreconditions: satisfiedView(state),
    lastStep: state.lastStep,
    lastNarrowing: about.lastNarrowing,
    killed: state.status === 'KILLED',
    totalUnguardedCalls: state.unguardedCalls,
    consecutiveBlockCount: state.consecutiveBlocks,
    totalBlockCount: state.totalBlocks,
  }
}

/** Every tool that the calls so far forbid. */
export function forbiddenTools(state: SessionState, plan: Plan): string[] {
  const forbidden = new Set<string>()
  for (const tool of Object.keys(state.used)) {
    for (const other of plan.contracts.get(tool)?.definition.forbids_after ?? []) forbidden.add(other)
  }
  return [...forbidden].sort()
}

/** Hides the hashes: a precondition bound to values shows for how many of them it is met, or how often. */
function satisfiedView(state: SessionState): Record<string, JsonValue> {
  const met = Object.entries(state.satisfied).map(([key, values]): [string, JsonValue] => [
    key,
    values === true ? true : { values: values.length },
  ])
  const open = Object.entries(state.openings ?? {}).map(([key, left]): [string, JsonValue] => [
    key,
    { calls: Object.values(left).reduce((sum, count) => sum + count, 0) },
  ])
  return Object.fromEntries([...met, ...open])
}
