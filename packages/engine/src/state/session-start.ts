import type { SessionEvent } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import type { SessionState } from './state.js'

/** The first event of a session. */
export type CreatedEvent = Extract<SessionEvent, { type: 'created' }>

/** The state of a session right after its creation. */
export function initialState(plan: Plan, { at, body }: CreatedEvent): SessionState {
  return {
    agent: body.agent,
    startedAt: at,
    status: 'ACTIVE',
    stateVersion: 0,
    controlRevision: 0,
    fence: body.fence,
    holderId: body.holder_id,
    phase: body.initial_phase ?? plan.phases?.initial ?? null,
    committed: {},
    used: {},
    usedCalls: 0,
    totalCost: '0',
    actualCost: '0',
    highestCost: '0',
    aggregates: {},
    bindings: {},
    envelopes: {},
    satisfied: {},
    recent: [],
    recentTimes: [],
    labels: [...new Set(body.labels)],
    toolFilter: null,
    offeredTools: body.workflow?.tools ?? null,
    checkpointsTriggered: 0,
    ...(body.asks !== undefined && { asks: body.asks }),
    consecutiveBlocks: 0,
    totalBlocks: 0,
    consecutiveErrors: 0,
    unguardedCalls: 0,
    open: null,
    lastStep: null,
  }
}
