import { addCall, addColumns, newSummary, parseStrictJson, type ToolSummary } from '@countersign/engine'
import { type Pupil, type StoredCapture, takeLessons, takePupil } from '../store/captures.js'
import type { Tx } from '../store/database.js'
import { type LearnedChange, loadLearnedTools, saveLearnedTools } from '../store/learned-tools.js'

/** Captures learned in one transaction. */
export const LESSONS_PER_BATCH = 500

/**
 * Learns from captures that nobody learned from yet, of one agent, and returns how many there were. The agent is locked
 * meanwhile and other instances take other agents, so that each capture counts once and no summary is lost.
 */
export async function learnCaptures(tx: Tx): Promise<number> {
  const pupil = await takePupil(tx)
  if (pupil === null) return 0
  const lessons = await takeLessons(tx, pupil, LESSONS_PER_BATCH)
  const known = await loadLearnedTools(tx, { ...pupil, tools: toolsIn(lessons) })
  const changes = learnLessons(
    lessons,
    pupil,
    known.map(({ summary }) => summary),
  )
  if (changes.length > 0) await saveLearnedTools(tx, pupil, changes)
  return lessons.length
}

export function learnLessons(
  lessons: readonly StoredCapture[],
  { salt }: Pick<Pupil, 'salt'>,
  known: readonly ToolSummary[],
): LearnedChange[] {
  const changes = new Map<string, LearnedChange>()
  const summaries = new Map(known.map((summary) => [summary.tool, summary]))
  const changeOf = (tool: string): LearnedChange => {
    const change = changes.get(tool) ?? { summary: summaries.get(tool) ?? newSummary(tool), judged: 0, passed: 0 }
    changes.set(tool, change)
    return change
  }
  for (const lesson of lessons) learnOne(lesson, salt, changeOf)
  return [...changes.values()]
}

/** Blocked calls count as judged and teach nothing. */
function learnOne(lesson: StoredCapture, salt: string, changeOf: (tool: string) => LearnedChange): void {
  const { conversation_id: session, flows, validation } = lesson
  lesson.response.tool_calls.forEach((call, index) => {
    const verdict = validation?.calls.find((judged) => judged.index === index)?.decision
    const change = changeOf(call.name)
    if (verdict !== undefined) change.judged++
    if (verdict === 'block') return
    if (verdict === 'allow') change.passed++
    const parsed = call.arguments === null ? null : parseStrictJson(call.arguments === '' ? '{}' : call.arguments)
    if (parsed?.ok === false) return
    const flow = flows?.calls.find(({ call_id, tool }) => call_id === call.id && tool === call.name) ?? null
    const observed = { session, request: flows?.request, tool: call.name, arguments: parsed?.value ?? null, flow }
    addCall(change.summary, observed, salt)
  })
  for (const column of flows?.columns ?? []) addColumns(changeOf(column.tool).summary, session, [column])
}

function toolsIn(lessons: readonly StoredCapture[]): string[] {
  const tools = new Set<string>()
  for (const { response, flows } of lessons) {
    for (const { name } of response.tool_calls) tools.add(name)
    for (const { tool } of flows?.columns ?? []) tools.add(tool)
  }
  return [...tools]
}
