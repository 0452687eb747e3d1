import { addCall, addColumns, newSummary, parseStrictJson, type ToolSummary } from '@countersign/engine'
import { LIMITS } from '@countersign/protocol'
import type { Tx } from '../postgres/sql.js'
import {
  type AgentName,
  type AgentToLearn,
  FIRST_AGENT,
  takeAgent,
  takeUnlearned,
  type UnlearnedCapture,
} from '../store/captures/captures.js'
import {
  countLearnedTools,
  type LearnedChange,
  loadLearnedTools,
  saveLearnedTools,
} from '../store/captures/learned-tools.js'

/** Captures learned in one transaction, and the rest of the batch that the last of them came in. */
export const CAPTURES_PER_BATCH = 500

/** Tools of one agent that are remembered: twice what a request may offer. Later ones are not learned. */
export const MAX_TOOLS = 2 * LIMITS.toolsPerPreflight

/**
 * Learns from captures that nobody learned from yet, of one agent, and returns how many there were. The agent is locked
 * meanwhile and other instances take other agents, so that each capture counts once and no summary is lost.
 */
export async function learnCaptures(tx: Tx, cursor: AgentCursor = { last: FIRST_AGENT }): Promise<number> {
  const learner = await nextAgent(tx, cursor)
  if (learner === null) return 0
  const { taken, captures } = await takeUnlearned(tx, learner, CAPTURES_PER_BATCH)
  const known = await loadLearnedTools(tx, { ...learner, tools: toolsIn(captures) })
  const changes = learnAll(
    captures,
    learner,
    known.map(({ summary }) => summary),
  )
  const old = new Set(known.map(({ toolName }) => toolName))
  const fresh = changes.filter(({ summary }) => !old.has(summary.tool))
  const room = fresh.length === 0 ? 0 : MAX_TOOLS - (await countLearnedTools(tx, learner))
  const saved = changes.filter((change) => !fresh.includes(change) || fresh.indexOf(change) < room)
  if (saved.length > 0) await saveLearnedTools(tx, learner, saved)
  return taken
}

/** Which agent came last. The next one comes first: an agent with a long backlog, or a broken one, holds up no other. */
export interface AgentCursor {
  last: AgentName
}

const cursors = new WeakMap<object, AgentCursor>()

/** How far an instance has come, by its database. */
export function cursorOf(database: object): AgentCursor {
  const cursor = cursors.get(database) ?? { last: FIRST_AGENT }
  cursors.set(database, cursor)
  return cursor
}

async function nextAgent(tx: Tx, cursor: AgentCursor): Promise<AgentToLearn | null> {
  const { last } = cursor
  const learner = (await takeAgent(tx, last)) ?? (last === FIRST_AGENT ? null : await takeAgent(tx, FIRST_AGENT))
  cursor.last = learner ?? FIRST_AGENT
  return learner
}

export function learnAll(
  captures: readonly UnlearnedCapture[],
  { salt }: Pick<AgentToLearn, 'salt'>,
  known: readonly ToolSummary[],
): LearnedChange[] {
  const changes = new Map<string, LearnedChange>()
  const summaries = new Map(known.map((summary) => [summary.tool, summary]))
  const changeOf = (tool: string): LearnedChange => {
    const change = changes.get(tool) ?? { summary: summaries.get(tool) ?? newSummary(tool), judged: 0, passed: 0 }
    changes.set(tool, change)
    return change
  }
  for (const capture of captures) {
    const offered = new Set(capture.item.request.tools)
    // A tool that nobody offers is the model's invention, or an attacker's: it teaches nothing and is nowhere listed.
    const isReal = (tool: string) => offered.size === 0 || offered.has(tool) || summaries.has(tool)
    learnOne(capture, salt, { changeOf, isReal })
  }
  return [...changes.values()]
}

interface Learning {
  changeOf(tool: string): LearnedChange
  isReal(tool: string): boolean
}

/** Blocked calls count as judged and teach nothing. */
function learnOne({ item, outcomes }: UnlearnedCapture, salt: string, { changeOf, isReal }: Learning): void {
  const { conversation_id: session, flows, validation } = item
  item.response.tool_calls.forEach((call, index) => {
    if (!isReal(call.name)) return
    const verdict = validation?.calls.find((judged) => judged.index === index)?.decision
    const change = changeOf(call.name)
    if (verdict !== undefined) change.judged++
    if (verdict === 'block') return
    if (verdict === 'allow') change.passed++
    const outcome = outcomes === null ? 'succeeded' : (outcomes.get(call.id) ?? 'not_executed')
    // Refused by a person, given up, or never heard of again: nothing says that it was good.
    if (outcome === 'not_executed') return
    const parsed = call.arguments === null ? null : parseStrictJson(call.arguments === '' ? '{}' : call.arguments)
    if (parsed?.ok === false) return
    const flow = flows?.calls.find(({ call_id, tool }) => call_id === call.id && tool === call.name) ?? null
    const observed = { session, request: flows?.request, tool: call.name, arguments: parsed?.value ?? null, flow }
    addCall(change.summary, { ...observed, failed: outcome !== 'succeeded' }, salt)
  })
  for (const column of flows?.columns ?? []) {
    if (isReal(column.tool)) addColumns(changeOf(column.tool).summary, session, [column])
  }
}

function toolsIn(captures: readonly UnlearnedCapture[]): string[] {
  const tools = new Set<string>()
  for (const { item } of captures) {
    for (const { name } of item.response.tool_calls) tools.add(name)
    for (const { tool } of item.flows?.columns ?? []) tools.add(tool)
  }
  return [...tools]
}
