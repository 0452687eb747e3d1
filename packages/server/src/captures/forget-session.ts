import { forgetCall, parseStrictJson } from '@countersign/engine'
import type { Tx } from '../postgres/sql.js'
import type { StoredCapture } from '../store/captures/captures.js'
import { loadLearnedTools, lockLearnedCapturesOf, saveLearnedTools } from '../store/captures/learned-tools.js'

/**
 * Takes what was learned of a session's calls out of the summaries again, before its captures are erased: keys and values
 * that no other session had. Its agents are locked first, as learning locks them, so that nothing is learned meanwhile.
 */
export async function forgetSession(tx: Tx, tenantId: string, sessionId: string): Promise<void> {
  for (const [agent, captures] of await lockLearnedCapturesOf(tx, tenantId, sessionId)) {
    const calls = captures.flatMap(callsOf)
    const tools = await loadLearnedTools(tx, { tenantId, agent, tools: [...new Set(calls.map(({ tool }) => tool))] })
    const summaries = new Map(tools.map(({ toolName, summary }) => [toolName, summary]))
    for (const { tool, ...call } of calls) {
      const summary = summaries.get(tool)
      if (summary !== undefined) forgetCall(summary, call)
    }
    const changes = [...summaries].map(([toolName, summary]) => ({
      ...{ toolName, summary: JSON.stringify(summary), samples: summary.samples },
      ...{ judged: 0, passed: 0 },
    }))
    if (changes.length > 0) await saveLearnedTools(tx, { tenantId, agent }, changes)
  }
}

interface LearnedCall {
  readonly tool: string
  readonly session: string
  readonly arguments: unknown
}

/** Calls that taught something, and the tools whose results did. */
function callsOf({ response, validation, flows, conversation_id: session }: StoredCapture): LearnedCall[] {
  const blocked = new Set((validation?.calls ?? []).flatMap((call) => (call.decision === 'block' ? [call.index] : [])))
  const calls = response.tool_calls.flatMap(({ name, arguments: text }, index) => {
    const parsed = text === null || blocked.has(index) ? null : parseStrictJson(text === '' ? '{}' : text)
    return parsed?.ok === true ? [{ tool: name, session, arguments: parsed.value }] : []
  })
  return [...calls, ...(flows?.columns ?? []).map(({ tool }) => ({ tool, session, arguments: null }))]
}
