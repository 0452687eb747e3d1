import {
  addCall,
  addColumns,
  fitSummary,
  newSummary,
  parseStrictJson,
  readSummary,
  type ToolSummary,
} from '@countersign/engine'
import type { Outcome } from '@countersign/protocol'
import type { BatchToLearn, LearnedBatch } from '../context/tasks.js'
import type { StoredCapture } from '../store/captures/captures.js'
import type { LearnedToolChange } from '../store/captures/learned-tools.js'

/** Tools of one batch: their summaries are read and written together. A capture that tells of more teaches of these. */
export const TOOLS_PER_BATCH = 64

/** As many captures, from the first on, as tell of no more tools than one batch may. */
export function learnedTools(items: readonly string[]): { captures: number; tools: string[] } {
  const tools = new Set<string>()
  let captures = 0
  for (const item of items) {
    const own = toolsIn(JSON.parse(item) as StoredCapture)
    const added = [...own].filter((tool) => !tools.has(tool))
    if (captures > 0 && tools.size + added.length > TOOLS_PER_BATCH) break
    for (const tool of added) tools.add(tool)
    captures++
  }
  return { captures, tools: [...tools] }
}

/** Those that were called come first. */
function toolsIn({ response, flows }: StoredCapture): Set<string> {
  const called = response.tool_calls.map(({ name }) => name)
  const seen = (flows?.columns ?? []).map(({ tool }) => tool)
  return new Set([...new Set([...called, ...seen])].slice(0, TOOLS_PER_BATCH))
}

/** What the captures teach of these tools, added to what was known of them. */
export function learnBatch({ captures, salt, tools, summarySize, atOnce }: BatchToLearn): LearnedBatch {
  const batch: Batch = {
    salt,
    known: new Map(tools.map(({ toolName, summary }) => [toolName, summary === null ? null : readText(summary)])),
    changes: new Map(),
  }
  for (const { item, outcomes } of captures) {
    learnCapture(batch, JSON.parse(item) as StoredCapture, outcomes === null ? null : new Map(outcomes))
  }
  const changes: LearnedToolChange[] = []
  let size = 0
  let done = 0
  for (const { toolName } of tools) {
    if (size >= atOnce) break
    done++
    const change = batch.changes.get(toolName)
    if (change === undefined) continue
    const { summary, judged, passed } = change
    const text = fitSummary(summary, summarySize)
    size += text.length
    changes.push({ toolName, summary: text, samples: summary.samples, judged, passed })
  }
  return { tools: done, changes }
}

const readText = (text: string): ToolSummary => readSummary(JSON.parse(text) as ToolSummary)

interface Batch {
  readonly salt: string
  /** The tools that are learned of; null for new ones. */
  readonly known: ReadonlyMap<string, ToolSummary | null>
  readonly changes: Map<string, Change>
}

interface Change {
  readonly summary: ToolSummary
  judged: number
  passed: number
}

function changeOf({ known, changes }: Batch, tool: string): Change {
  const change = changes.get(tool) ?? { summary: known.get(tool) ?? newSummary(tool), judged: 0, passed: 0 }
  changes.set(tool, change)
  return change
}

/** Blocked calls count as judged and teach nothing. */
function learnCapture(batch: Batch, item: StoredCapture, outcomes: ReadonlyMap<string, Outcome> | null): void {
  const { conversation_id: session, flows, validation } = item
  const offered = new Set(item.request.tools)
  const counted = toolsIn(item)
  // A tool that was not offered is the model's invention, or an attacker's: it teaches nothing and is nowhere listed.
  const isReal = (tool: string) => offered.size === 0 || offered.has(tool) || batch.known.get(tool) != null
  const isLearned = (tool: string) => counted.has(tool) && batch.known.has(tool) && isReal(tool)
  const verdicts = new Map(validation?.calls.map(({ index, decision }) => [index, decision] as const).reverse())
  item.response.tool_calls.forEach((call, index) => {
    if (!isLearned(call.name)) return
    const verdict = verdicts.get(index)
    const change = changeOf(batch, call.name)
    if (verdict !== undefined) change.judged++
    if (verdict === 'block') return
    if (verdict === 'allow') change.passed++
    const outcome = outcomes === null ? 'succeeded' : (outcomes.get(call.id) ?? 'not_executed')
    // Refused by a person, given up, or never heard of again: nothing says that it was good.
    if (outcome === 'not_executed') return
    const parsed = call.arguments === null ? null : parseStrictJson(call.arguments === '' ? '{}' : call.arguments)
    if (parsed?.ok === false) return
    const flow = flows?.calls.find(({ call_id, tool }) => call_id === call.id && tool === call.name) ?? null
    const observed = {
      session,
      request: flows?.request,
      requestWords: flows?.request_words,
      tool: call.name,
      arguments: parsed?.value ?? null,
      flow,
    }
    addCall(change.summary, { ...observed, failed: outcome !== 'succeeded' }, batch.salt)
  })
  for (const column of flows?.columns ?? []) {
    if (isLearned(column.tool)) addColumns(changeOf(batch, column.tool).summary, session, [column])
  }
}
