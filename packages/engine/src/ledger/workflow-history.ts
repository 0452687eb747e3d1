import {
  HANDOFF_MOVES,
  type HandoffState,
  LIMITS,
  type WorkflowEvent,
  type WorkflowEventType,
} from '@countersign/protocol'
import { modesConflict, type ResourceMode } from '../contract/resource.js'

/** What the events of a workflow have established so far. */
interface History {
  isKilled: boolean
  readonly sessions: Set<string>
  readonly handoffs: Map<string, HandoffState>
  readonly holds: {
    readonly session: string
    readonly call: string
    readonly key: string
    readonly mode: ResourceMode
    readonly sinceMs: number
  }[]
}

/** The first event that cannot have followed the previous ones, and why. Null if the history is possible. */
export function impossibleEvent(events: readonly WorkflowEvent[]): { at: number; problem: string } | null {
  const history: History = { isKilled: false, sessions: new Set(), handoffs: new Map(), holds: [] }
  for (const [at, event] of events.entries()) {
    if ((at === 0) !== (event.type === 'opened'))
      return { at, problem: '`opened` must be the first event and occur once' }
    if (history.isKilled && !AFTER_A_KILL.has(event.type)) return { at, problem: `"${event.type}" after the kill` }
    const problem = addEvent(history, event)
    if (problem !== null) return { at, problem }
  }
  return null
}

/** After a kill, calls may still end and offers expire. */
const AFTER_A_KILL: ReadonlySet<WorkflowEventType> = new Set(['resources_released', 'handoff_expired'])

/** Adds an event to the history. Returns why it is impossible, or null. */
function addEvent(history: History, event: WorkflowEvent): string | null {
  switch (event.type) {
    case 'opened':
      return null
    case 'joined':
      if (history.sessions.has(event.body.session_id)) return `session ${event.body.session_id} joined already`
      history.sessions.add(event.body.session_id)
      return null
    case 'handoff_offered':
      if (history.handoffs.has(event.body.handoff_id)) return `handoff ${event.body.handoff_id} was offered already`
      history.handoffs.set(event.body.handoff_id, 'offered')
      return null
    case 'handoff_accepted':
      return move(history, event.body.handoff_id, 'accept')
    case 'handoff_completed':
      return move(history, event.body.handoff_id, 'complete')
    case 'handoff_reclaimed':
      return move(history, event.body.handoff_id, 'reclaim')
    case 'handoff_expired':
      return move(history, event.body.handoff_id, 'expire')
    case 'resources_held':
      return hold(history, event)
    case 'resources_released':
      release(history, event.body)
      return null
    case 'killed':
      history.isKilled = true
      return null
  }
}

function move(
  { handoffs }: History,
  handoffId: string,
  how: 'accept' | 'complete' | 'reclaim' | 'expire',
): string | null {
  const from = handoffs.get(handoffId)
  if (from === undefined) return `handoff ${handoffId} was never offered`
  const moves: Partial<Record<typeof how, HandoffState>> = HANDOFF_MOVES[from]
  const to = moves[how]
  if (to === undefined) return `${how} of handoff ${handoffId}, which is ${from}`
  handoffs.set(handoffId, to)
  return null
}

type HeldEvent = Extract<WorkflowEvent, { type: 'resources_held' }>
type ReleasedBody = Extract<WorkflowEvent, { type: 'resources_released' }>['body']

/** Without a release, a hold ends this long after its session was killed, which this ledger does not record. */
const LEAST_HOLD_MS = LIMITS.resourceHoldAfterKillSeconds * 1_000

function hold({ holds }: History, { at, body }: HeldEvent): string | null {
  const { session_id: session } = body
  const sinceMs = Date.parse(at)
  for (const { pending_call_id: call, key_hash: key, mode } of body.holds) {
    const excludes = (held: History['holds'][number]) =>
      held.key === key &&
      held.session !== session &&
      modesConflict(held.mode, mode) &&
      sinceMs < held.sinceMs + LEAST_HOLD_MS
    const other = holds.find(excludes)
    if (other !== undefined) return `call ${other.call} of session ${other.session} already holds the resource`
    holds.push({ session, call, key, mode, sinceMs })
  }
  return null
}

function release({ holds }: History, { session_id: session, pending_call_ids: calls }: ReleasedBody): void {
  const left = holds.filter((held) => held.session !== session || !calls.includes(held.call))
  holds.splice(0, holds.length, ...left)
}
