import {
  applyEvent,
  foldEvents,
  initialState,
  modesConflict,
  preparePlan,
  verifyWorkflowExport,
} from '@countersign/engine'
import { HANDOFF_MOVES, type HandoffState, type SessionEvent, type WorkflowEvent } from '@countersign/protocol'
import { exportOf } from '../runtime/ledger-export.js'
import type { Api, Runtime } from '../runtime/runtime.js'
import { checkSession } from './session-checker.js'

/** What must hold of every workflow at any time. Returns what does not, in words; nothing when all holds. */
export async function checkWorkflow(runtime: Runtime, workflowId: string): Promise<string[]> {
  const api = runtime.api()
  const events = await eventsOf(api, workflowId)
  const { body: view } = await api.loadWorkflow({ params: { workflow_id: workflowId } })
  const replayed = replay(events.events as unknown as WorkflowEvent[])
  const problems = [...replayed.problems]
  const chain = verifyWorkflowExport({ workflow_id: workflowId, ...events })
  if (!chain.ok) problems.push(`broken at event ${chain.brokenAt}: ${chain.problem}`)
  const rows = await runtime.sql<{ handoffId: string; state: HandoffState; toSession: string | null }[]>`
    select handoff_id, state, to_session from handoffs where workflow_id = ${workflowId}`
  for (const { handoffId, state, toSession } of rows) {
    const known = replayed.handoffs.get(handoffId)
    if (known?.state !== state || known.holder !== toSession)
      problems.push(`${handoffId}: ${state} or ${known?.state}?`)
  }
  if (rows.length !== replayed.handoffs.size) problems.push('handoffs are missing')
  const held = new Set(view.resources.map((hold) => `${hold.session_id} ${hold.pending_call_id}`))
  const ledgerHeld = new Set([...replayed.holds.values()].map((hold) => `${hold.session} ${hold.call}`))
  for (const hold of new Set([...held, ...ledgerHeld])) {
    if (held.has(hold) !== ledgerHeld.has(hold)) problems.push(`${hold}: held or not?`)
  }
  if (view.sessions.length !== replayed.sessions.size) problems.push('sessions are missing')
  for (const session of view.sessions) {
    problems.push(...(await checkMember(runtime, session.session_id, replayed)))
    if (view.status === 'KILLED' && session.status !== 'KILLED')
      problems.push(`${session.session_id}: outlived its workflow`)
  }
  return problems
}

async function eventsOf(api: Api, workflowId: string) {
  const page = async (after: number) =>
    (await api.exportWorkflowEvents({ params: { workflow_id: workflowId }, query: { after: String(after) } })).body
  const first = await page(0)
  const events = [...first.events]
  for (let next = first.next; next !== null; ) {
    const more = await page(next)
    events.push(...more.events)
    next = more.next
  }
  return { events, head: (await page(0)).head }
}

interface Replayed {
  readonly problems: string[]
  readonly handoffs: Map<
    string,
    {
      state: HandoffState
      holder: string | null
      giver: string
      tools: string[] | null
      down: string[]
      back: string[]
    }
  >
  readonly sessions: Map<string, { handoffId: string | null; tools: string[] | null }>
  readonly holds: Map<string, { session: string; call: string; key: string; mode: 'exclusive' | 'shared' }>
}

/** Walks the ledger: every move is one that there is, one winner for each handoff, no two holds that exclude each other. */
function replay(events: readonly WorkflowEvent[]): Replayed {
  const replayed: Replayed = { problems: [], handoffs: new Map(), sessions: new Map(), holds: new Map() }
  let isKilled = false
  for (const [index, event] of events.entries()) {
    const say = (problem: string) => replayed.problems.push(`workflow event ${index + 1}: ${problem}`)
    if ((index === 0) !== (event.type === 'opened')) say('a workflow is opened once, first of all')
    if (isKilled && !AFTER_A_KILL.has(event.type)) say(`${event.type} after the kill`)
    step(replayed, event, say)
    if (event.type === 'killed') isKilled = true
  }
  return replayed
}

/** A killed workflow still hears what became of its calls, and its offers run out. */
const AFTER_A_KILL: ReadonlySet<WorkflowEvent['type']> = new Set(['resources_released', 'handoff_expired'])

const MOVES = {
  handoff_accepted: 'accept',
  handoff_completed: 'complete',
  handoff_reclaimed: 'reclaim',
  handoff_expired: 'expire',
} as const

function step(replayed: Replayed, event: WorkflowEvent, say: (problem: string) => void): void {
  if (event.type === 'joined') {
    const { session_id, handoff_id, tools } = event.body
    if (replayed.sessions.has(session_id)) say(`${session_id} joined twice`)
    replayed.sessions.set(session_id, { handoffId: handoff_id, tools })
  } else if (event.type === 'handoff_offered') {
    const { handoff_id, tools, from_session } = event.body
    if (replayed.handoffs.has(handoff_id)) say(`${handoff_id} was offered twice`)
    replayed.handoffs.set(handoff_id, {
      state: 'offered',
      holder: null,
      giver: from_session,
      tools,
      down: [],
      back: [],
    })
  } else if (event.type === 'resources_held') {
    for (const { pending_call_id: call, key_hash: key, mode } of event.body.holds) {
      const session = event.body.session_id
      for (const other of replayed.holds.values()) {
        if (other.key === key && other.session !== session && modesConflict(other.mode, mode))
          say('two holds exclude each other')
      }
      replayed.holds.set(`${session} ${call} ${key}`, { session, call, key, mode })
    }
  } else if (event.type === 'resources_released') {
    const { session_id, pending_call_ids } = event.body
    for (const [id, hold] of replayed.holds) {
      if (hold.session === session_id && pending_call_ids.includes(hold.call)) replayed.holds.delete(id)
    }
  } else if (event.type in MOVES) {
    const { type, body } = event as Extract<WorkflowEvent, { type: keyof typeof MOVES }>
    const handoff = replayed.handoffs.get(body.handoff_id)
    const moves: Partial<Record<string, HandoffState>> = handoff === undefined ? {} : HANDOFF_MOVES[handoff.state]
    const to = moves[MOVES[type]]
    if (handoff === undefined || to === undefined) {
      say(`${type} of ${body.handoff_id}, which is ${handoff?.state}`)
      return
    }
    handoff.state = to
    if ('to_session' in body) {
      handoff.holder = body.to_session
      handoff.down = body.labels
    } else if ('labels' in body) handoff.back = body.labels ?? []
  }
}

/** A member keeps to what it was handed, and has the labels that came with it. */
async function checkMember(runtime: Runtime, sessionId: string, replayed: Replayed): Promise<string[]> {
  const exported = await exportOf(runtime.api(), sessionId)
  const problems = (await checkSession(runtime.sql, sessionId, exported)).map((problem) => `${sessionId}: ${problem}`)
  const prepared = preparePlan(exported.compiled_session)
  const events = exported.events as unknown as SessionEvent[]
  const [first, ...rest] = events
  if (!prepared.ok || first?.type !== 'created') return [...problems, `${sessionId}: cannot be read`]
  const joined = replayed.sessions.get(sessionId)
  const handoff = joined?.handoffId ? replayed.handoffs.get(joined.handoffId) : undefined
  const offered = handoff?.tools ?? joined?.tools ?? null
  if (JSON.stringify(first.body.workflow?.tools) !== JSON.stringify(offered))
    problems.push(`${sessionId}: other tools than offered`)
  let state = initialState(prepared.plan, first)
  for (const event of rest) {
    if (event.type === 'proposal') {
      for (const call of event.body.calls) {
        const isOutside = state.offeredTools !== null && !state.offeredTools.includes(call.tool_name)
        if (call.decision === 'allow' && isOutside) problems.push(`${sessionId}: ${call.tool_name} was never offered`)
      }
    }
    state = applyEvent(state, event, prepared.plan)
  }
  const final = foldEvents(events, prepared.plan)
  for (const { giver, holder, down, back } of replayed.handoffs.values()) {
    const brought = [...(giver === sessionId ? back : []), ...(holder === sessionId ? down : [])]
    for (const label of brought)
      if (!final.labels.includes(label)) problems.push(`${sessionId}: ${label} did not travel`)
  }
  return problems
}
