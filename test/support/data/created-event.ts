import type { SessionEvent } from '@countersign/protocol'

type Created = Extract<SessionEvent, { type: 'created' }>

/** The first event of a session with this plan that nobody has said anything about. */
export const createdEvent = (compiled_hash: string, given: Partial<Created['body']> = {}): Created => ({
  type: 'created',
  at: '2026-01-01T00:00:00.000Z',
  body: {
    agent: null,
    environment: null,
    holder_id: 'h',
    compiled_hash,
    plan_source: 'client',
    unmatched_policy: 'block',
    capture_level: 'metadata',
    labels: [],
    has_principal: false,
    initial_phase: null,
    fence: 1,
    workflow: null,
    ...given,
  },
})
