import { forgetCall, parseStrictJson, readSummary, type ToolSummary } from '@countersign/engine'
import type { BatchToForget } from '../context/tasks.js'
import type { StoredCapture } from '../store/captures/captures.js'
import type { LearnedToolChange } from '../store/captures/learned-tools.js'

/** The summaries without the keys and values that only these captures had. */
export function forgetBatch({ items, summaries }: BatchToForget): LearnedToolChange[] {
  const known = summaries.map((text) => readSummary(JSON.parse(text) as ToolSummary))
  const byTool = new Map(known.map((summary) => [summary.tool, summary]))
  for (const item of items) {
    for (const { tool, ...call } of callsOf(JSON.parse(item) as StoredCapture)) {
      const summary = byTool.get(tool)
      if (summary !== undefined) forgetCall(summary, call)
    }
  }
  return known.map((summary) => ({
    toolName: summary.tool,
    summary: JSON.stringify(summary),
    samples: summary.samples,
    judged: 0,
    passed: 0,
  }))
}

interface LearnedCall {
  readonly tool: string
  readonly session: string
  readonly request: string | undefined
  readonly arguments: unknown
}

/** Calls that taught something, and the tools whose results did. */
function callsOf({ response, validation, flows, conversation_id: session }: StoredCapture): LearnedCall[] {
  const blocked = new Set((validation?.calls ?? []).flatMap((call) => (call.decision === 'block' ? [call.index] : [])))
  const calls = response.tool_calls.flatMap(({ name, arguments: text }, index) => {
    const parsed = text === null || blocked.has(index) ? null : parseStrictJson(text === '' ? '{}' : text)
    return parsed?.ok === true ? [{ tool: name, session, request: flows?.request, arguments: parsed.value }] : []
  })
  return [
    ...calls,
    ...(flows?.columns ?? []).map(({ tool }) => ({ tool, session, request: flows?.request, arguments: null })),
  ]
}
