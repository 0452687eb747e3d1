import { type ObservedCall, type ObservedSession, parseStrictJson } from '@countersign/engine'
import type { Column } from '@countersign/protocol'
import type { StoredCapture } from '../store/captures/captures.js'

interface Sighted {
  readonly id: string
  request: string | undefined
  requestWords: string | undefined
  readonly calls: ObservedCall[]
  readonly columns: Column[]
}

/** Captured conversations as learning saw them, oldest capture first. Blocked calls never ran, and teach nothing. */
export function observedSessions(captures: readonly string[]): ObservedSession[] {
  const byId = new Map<string, Sighted>()
  for (const text of captures) {
    const { conversation_id: id, response, flows, validation } = JSON.parse(text) as StoredCapture
    const session: Sighted = byId.get(id) ?? {
      id,
      request: undefined,
      requestWords: undefined,
      calls: [],
      columns: [],
    }
    byId.set(id, session)
    session.request ??= flows?.request
    session.requestWords ??= flows?.request_words
    session.columns.push(...(flows?.columns ?? []))
    const blocked = new Set(validation?.calls.filter(({ decision }) => decision === 'block').map(({ index }) => index))
    response.tool_calls.forEach((call, index) => {
      const parsed = call.arguments === null ? null : parseStrictJson(call.arguments === '' ? '{}' : call.arguments)
      if (blocked.has(index) || parsed?.ok !== true) return
      const flow = flows?.calls.find(({ call_id, tool }) => call_id === call.id && tool === call.name) ?? null
      session.calls.push({ session: id, request: session.request, tool: call.name, arguments: parsed.value, flow })
    })
  }
  // Without flows it is unknown where values came from, and every call would look odd.
  return [...byId.values()].filter(({ calls }) => calls.length > 0 && calls.every(({ flow }) => flow !== null))
}
