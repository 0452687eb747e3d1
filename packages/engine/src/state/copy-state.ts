import type { PendingCall, RegisteredCall, SessionState } from './state.js'

/**
 * A mutable copy. Written out on purpose: a spread of a spread of a spread has a new hidden class each time, and V8
 * then copies field by field at about ten times the cost, several times a step.
 */
export function copyState(state: SessionState): Mutable<SessionState> {
  return {
    agent: state.agent,
    startedAt: state.startedAt,
    status: state.status,
    endedAt: state.endedAt,
    stateVersion: state.stateVersion,
    controlRevision: state.controlRevision,
    fence: state.fence,
    holderId: state.holderId,
    phase: state.phase,
    committed: state.committed,
    used: state.used,
    usedCalls: state.usedCalls,
    totalCost: state.totalCost,
    actualCost: state.actualCost,
    highestCost: state.highestCost,
    aggregates: state.aggregates,
    bindings: state.bindings,
    envelopes: state.envelopes,
    satisfied: state.satisfied,
    strictest: state.strictest,
    openings: state.openings,
    keyCounts: state.keyCounts,
    recent: state.recent,
    recentTimes: state.recentTimes,
    labels: state.labels,
    toolFilter: state.toolFilter,
    offeredTools: state.offeredTools,
    checkpointsTriggered: state.checkpointsTriggered,
    refused: state.refused,
    unanswered: state.unanswered,
    asks: state.asks,
    questions: state.questions,
    consecutiveBlocks: state.consecutiveBlocks,
    totalBlocks: state.totalBlocks,
    consecutiveErrors: state.consecutiveErrors,
    unguardedCalls: state.unguardedCalls,
    open: state.open,
    lastStep: state.lastStep,
  }
}

export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** A registered call with its current state: pending, in doubt or resolved. */
export function pendingCall(call: RegisteredCall, state: PendingCall['state'], proposedAt: string): PendingCall {
  return {
    index: call.index,
    call_id: call.call_id,
    tool_name: call.tool_name,
    decision: call.decision,
    pending_call_id: call.pending_call_id,
    argument_hash: call.argument_hash,
    reasons: call.reasons,
    commit_requirement: call.commit_requirement,
    rolls_back: call.rolls_back,
    checkpoints: call.checkpoints,
    advances_to: call.advances_to,
    adds_labels: call.adds_labels,
    amounts: call.amounts,
    binds: call.binds,
    establishes: call.establishes,
    witnesses: call.witnesses,
    resources: call.resources,
    keys: call.keys,
    consumes: call.consumes,
    draws: call.draws,
    state,
    proposed_at: proposedAt,
  }
}
