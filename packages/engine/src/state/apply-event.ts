import type { SessionEvent } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import { applyProposal } from './apply-proposal.js'
import { applyReceipts } from './apply-receipts.js'
import { copyState } from './copy-state.js'
import { type Questions, withAnswer, withdrawn, withEnd, withNewCard } from './questions.js'
import { initialState } from './session-start.js'
import type { SessionState } from './state.js'

/** The state after an event. Nothing else creates states, so that the ledger and the state cannot disagree. */
export function applyEvent(state: SessionState, event: SessionEvent, plan: Plan): SessionState {
  switch (event.type) {
    case 'created':
      throw new Error('a session is created once: `created` can only be the first event')
    case 'proposal':
      return applyProposal(state, event, plan)
    case 'receipts':
      return applyReceipts(state, event, plan)
    case 'turn_blocked':
      return blocked(state)
    case 'claimed':
      return claimed(state, event.body)
    case 'answered':
      return asked(state, (questions) => withAnswer(questions, event.body))
    case 'question_changed':
      return asked(state, (questions) => withNewCard(questions, event.body))
    case 'question_ended':
      return asked(state, (questions) => withEnd(questions, event.body))
    case 'label':
      return withLabels(state, [event.body.label])
    case 'tool_filter':
      return controlled({ ...state, toolFilter: event.body.tools })
    case 'bypass':
      return stopped(state, state.status === 'KILLED' ? 'KILLED' : 'COMPROMISED')
    case 'killed':
      return stopped(state, 'KILLED')
    case 'recovered':
      return recovered(state, event.body)
    case 'ended':
      return controlled({ ...state, endedAt: event.at })
    case 'handoff_completed':
      return event.body.side === 'to' ? withoutTools(state) : withLabels(state, event.body.labels)
    case 'handoff_reclaimed':
      return event.body.side === 'to' ? withoutTools(state) : withLabels(state, event.body.labels ?? [])
    // What the session may do is unchanged: a turn in progress continues.
    case 'handoff_offered':
    case 'handoff_accepted':
    case 'handoff_expired':
      return state
  }
}

/** The state after all events of a session, in order from the first. */
export function foldEvents(events: readonly SessionEvent[], plan: Plan): SessionState {
  const [first, ...rest] = events
  if (first?.type !== 'created') throw new Error('the first event of a session must be `created`')
  return rest.reduce((state, event) => applyEvent(state, event, plan), initialState(plan, first))
}

/** Nothing was decided about a call, and the turn is over all the same. */
const blocked = (state: SessionState): SessionState => ({
  ...state,
  consecutiveBlocks: state.consecutiveBlocks + 1,
  totalBlocks: state.totalBlocks + 1,
})

/** Who runs a call does not change what is allowed: the session stays at its version. */
function claimed(state: SessionState, body: Extract<SessionEvent, { type: 'claimed' }>['body']): SessionState {
  if (state.open === null) return state
  const calls = state.open.calls.map((call) =>
    call.pending_call_id === body.pending_call_id ? { ...call, claim: body.claim_id } : call,
  )
  return { ...state, open: { ...state.open, calls } }
}

/** An answer opens nothing by itself: prepared requests stay as they are. */
const asked = (state: SessionState, change: (questions: Questions) => Questions): SessionState =>
  state.questions === undefined ? state : { ...copyState(state), questions: change(state.questions) }

const stopped = (state: SessionState, status: 'KILLED' | 'COMPROMISED'): SessionState =>
  controlled({ ...copyState(state), status, questions: withdrawn(state.questions) })

/** What is allowed has changed without a step: requests prepared earlier become stale. */
const controlled = (state: SessionState): SessionState => ({ ...state, controlRevision: state.controlRevision + 1 })

/** The tools that a handoff granted end with it. */
const withoutTools = (state: SessionState): SessionState => controlled({ ...state, offeredTools: [] })

/** Labels are added and never removed; adding an existing one changes nothing. */
function withLabels(state: SessionState, labels: readonly string[]): SessionState {
  const added = labels.filter((label) => !state.labels.includes(label))
  if (added.length === 0) return state
  return controlled({ ...state, labels: [...new Set([...state.labels, ...added])] })
}

/** Shuts out the old holder. Calls without an outcome are in doubt until the new holder has reported one. */
function recovered(state: SessionState, body: Extract<SessionEvent, { type: 'recovered' }>['body']): SessionState {
  const inDoubt = new Set(body.in_doubt)
  const open = state.open && {
    ...state.open,
    calls: state.open.calls.map((call) =>
      inDoubt.has(call.pending_call_id) && call.state !== 'resolved' ? { ...call, state: 'in_doubt' as const } : call,
    ),
  }
  const status = inDoubt.size > 0 ? 'RECOVERING' : 'ACTIVE'
  return controlled({ ...state, fence: body.fence, holderId: body.holder_id, status, open, endedAt: undefined })
}
