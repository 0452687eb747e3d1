import {
  flowOf,
  newTrail,
  type ObservedCall,
  type ObservedSession,
  sawCall,
  sawResult,
  sawUser,
  takeColumns,
} from '@countersign/engine'
import type { Column } from '@countersign/protocol'
import type { RecordedCall, Trace } from './dataset.js'

/** Observes a session as the SDK does: flows before each turn, results after it. */
export function observe(trace: Trace): ObservedSession {
  const trail = newTrail(SALT)
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
      sawResult(trail, call.name, call.shown, { arguments: call.arguments, failed: call.labels.error })
    }
    columns.push(...takeColumns(trail))
  }
  const requestWords = trail.requestWords ?? undefined
  return { id: trace.id, request: trace.user, requestWords, calls, columns }
}

export const SALT = 'benchmark'

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
