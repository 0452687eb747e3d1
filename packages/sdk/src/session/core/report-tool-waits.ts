import { LONG_WAIT_MS } from '../../authority/open-calls.js'
import type { SessionCore } from './session-core.js'

/** Names the wrapped tools that something has waited for in vain so far. */
export function reportToolWaits({ report, settings }: SessionCore): (tools: readonly string[]) => void {
  return (tools) => {
    const detail =
      `the session is waiting for ${tools.join(', ')}, which has not ended after ${LONG_WAIT_MS / 1_000} s, and needs its outcome ` +
      'to go on: give its contract timeouts.total_ms, or let the tool stop when the signal in its second argument is aborted'
    report({ type: 'replay_tool_waiting', session_id: settings.sessionId, tools, detail })
  }
}
