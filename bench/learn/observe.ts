import {
  addCall,
  addColumns,
  flowOf,
  newSummary,
  newTrail,
  type ObservedCall,
  sawCall,
  sawResult,
  sawUser,
  type ToolSummary,
  takeColumns,
} from '@countersign/engine'
import type { Column } from '@countersign/protocol'
import type { RecordedCall, Trace } from './dataset.js'

/** What the learner gets from the capture of one session. */
export interface ObservedSession {
  readonly id: string
  readonly calls: readonly ObservedCall[]
  readonly columns: readonly Column[]
}

/** Observes a session as the SDK does: flows before each turn, results after it. */
export function observe(trace: Trace): ObservedSession {
  const trail = newTrail()
  sawUser(trail, trace.user)
  const calls: ObservedCall[] = []
  const columns: Column[] = []
  for (const { said, calls: turn } of turnsOf(trace)) {
    for (const text of said) sawUser(trail, text)
    for (const { name, arguments: given, labels } of turn) {
      const flow = flowOf(trail, { id: '', tool: name, arguments: given })
      calls.push({ session: trace.id, request: trace.user, tool: name, arguments: given, flow, failed: labels.error })
    }
    for (const call of turn) {
      sawCall(trail, call.name, call.arguments)
      sawResult(trail, call.name, call.shown, call.labels.error)
    }
    columns.push(...takeColumns(trail))
  }
  return { id: trace.id, calls, columns }
}

export const SALT = 'benchmark'

export function learn(sessions: readonly ObservedSession[]): ToolSummary[] {
  const byTool = new Map<string, ToolSummary>()
  const summaryOf = (tool: string): ToolSummary => {
    const summary = byTool.get(tool) ?? newSummary(tool)
    byTool.set(tool, summary)
    return summary
  }
  for (const { id, calls, columns } of sessions) {
    for (const call of calls) addCall(summaryOf(call.tool), call, SALT)
    for (const column of columns) addColumns(summaryOf(column.tool), id, [column])
  }
  return [...byTool.values()]
}

/** Calls of one assistant message were proposed together, after what the user had said since the last one. */
export interface RecordedTurn {
  readonly said: readonly string[]
  readonly calls: RecordedCall[]
}

export function turnsOf(trace: Trace): RecordedTurn[] {
  const turns: RecordedTurn[] = []
  let last: number | null = null
  let heard = trace.user
  for (const call of trace.calls) {
    if (call.turn === last) turns.at(-1)?.calls.push(call)
    else {
      const isNew = call.said !== undefined && call.said !== heard
      turns.push({ said: isNew ? [call.said] : [], calls: [call] })
      heard = call.said ?? heard
    }
    last = call.turn
  }
  return turns
}
