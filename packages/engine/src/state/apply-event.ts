import type { SessionEvent } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import { applyProposal } from './apply-proposal.js'
import { applyReceipts } from './apply-receipts.js'
import { initialState } from './session-start.js'
import type { SessionState } from './state.js'

/** The state after an event. Nothing else makes one, so that the ledger and the state cannot disagree. */
export function applyEvent(state: SessionState, event: SessionEvent, plan: Plan): SessionState {
  switch (event.type) {
    case 'created':
      throw new Error('a session is created once: `created` can only be the first event')
    case 'proposal':
      return applyProposal(state, event, plan)
    case 'receipts':
      return applyReceipts(state, event)
    case 'label':
      return withLabels(state, [event.body.label])
    case 'tool_filter':
      return controlled({ ...state, toolFilter: event.body.tools })
    case 'bypass':
      return controlled({ ...state, status: state.status === 'KILLED' ? 'KILLED' : 'COMPROMISED' })
    case 'killed':
      return controlled({ ...state, status: 'KILLED' })
    case 'recovered':
      return recovered(state, event.body)
    case 'handoff_completed':
      return event.body.side === 'to' ? withoutTools(state) : withLabels(state, event.body.labels)
    case 'handoff_reclaimed':
      return event.body.side === 'to' ? withoutTools(state) : withLabels(state, event.body.labels ?? [])
    // Nothing that the session may do has changed: a turn under way goes on.
    case 'handoff_offered':
    case 'handoff_accepted':
    case 'handoff_expired':
      return state
  }
}

/** The state at the end of a session's events, in order from the first. */
export function foldEvents(events: readonly SessionEvent[], plan: Plan): SessionState {
  const [first, ...rest] = events
  if (first?.type !== 'created') throw new Error('the first event of a session must be `created`')
  return rest.reduce((state, event) => applyEvent(state, event, plan), initialState(plan, first))
}

/** What is allowed has changed without a step: requests prepared before must not pass. */
const controlled = (state: SessionState): SessionState => ({ ...state, controlRevision: state.controlRevision + 1 })

/** What a handoff lent a session ends with the handoff. */
const withoutTools = (state: SessionState): SessionState => controlled({ ...state, offeredTools: [] })

/** Labels are added and never removed; adding one that is there changes nothing. */
function withLabels(state: SessionState, labels: readonly string[]): SessionState {
  const added = labels.filter((label) => !state.labels.includes(label))
  if (added.length === 0) return state
  return controlled({ ...state, labels: [...new Set([...state.labels, ...added])] })
}

/** The old holder is shut out; calls without outcome are in doubt until the new one has said what became of them. */
function recovered(state: SessionState, body: Extract<SessionEvent, { type: 'recovered' }>['body']): SessionState {
  const inDoubt = new Set(body.in_doubt)
  const open = state.open && {
    ...state.open,
    calls: state.open.calls.map((call) =>
      inDoubt.has(call.pending_call_id) && call.state !== 'resolved' ? { ...call, state: 'in_doubt' as const } : call,
    ),
  }
  const status = inDoubt.size > 0 ? 'RECOVERING' : 'ACTIVE'
  return controlled({ ...state, fence: body.fence, holderId: body.holder_id, status, open })
}
