import { leavesOf, type PastSession, parseStrictJson } from '@countersign/engine'
import type { CallFlow, JsonObject, JsonValue, RunFixture } from '@countersign/protocol'
import type { StoredCapture } from '../store/captures/captures.js'
import { isPlainPath } from './judgeable-plan.js'

export interface NamedSession extends PastSession {
  readonly name: string
}

/** A conversation as it was captured: one turn a capture, flows as recorded, and of the results what flows say. */
export function capturedSession(name: string, items: readonly StoredCapture[]): NamedSession {
  const calls = items.flatMap(({ response, flows }, turn) =>
    response.tool_calls.map((call): CapturedCall => {
      const parsed = call.arguments === null ? null : parseStrictJson(call.arguments === '' ? '{}' : call.arguments)
      const flow = flows?.calls.find(({ call_id, tool }) => call_id === call.id && tool === call.name)
      return { turn, name: call.name, arguments: parsed?.ok === true ? parsed.value : null, flow, result: null }
    }),
  )
  tellResults(calls)
  return {
    name,
    agent: items[0]?.agent ?? null,
    user: [],
    turns: items.map((_, turn) => ({
      calls: calls
        .filter((call) => call.turn === turn)
        .map(({ name: tool, arguments: given, flow, result }) => ({
          name: tool,
          arguments: given,
          ...(flow === undefined ? {} : { flow }),
          ...(result === null ? {} : { results: [result] }),
        })),
    })),
  }
}

interface CapturedCall {
  readonly turn: number
  readonly name: string
  readonly arguments: JsonValue
  readonly flow: CallFlow | undefined
  result: JsonObject | null
}

/** True when every call says where each of its arguments was seen before. */
export const hasFlows = ({ turns }: PastSession): boolean =>
  turns.every(({ calls }) => calls.every(({ flow }) => flow !== undefined && flow.incomplete !== true))

/**
 * An argument that was taken from the last result reveals what that result said. Results are written so, at plain paths,
 * into the last call of that tool before; what no argument took up stays unknown.
 */
function tellResults(calls: readonly CapturedCall[]): void {
  calls.forEach((call) => {
    const { leaves } = leavesOf(call.arguments)
    leaves.forEach(({ path, value }, index) => {
      const leaf = call.flow?.leaves[index]
      if (leaf?.path !== path) return
      for (const source of leaf.sources) {
        if (source.seen !== 'cell' || source.latest !== true || !isPlainPath(source.path)) continue
        const from = calls.findLast(({ name, turn }) => name === source.tool && turn < call.turn)
        if (from !== undefined) from.result = placed(from.result ?? {}, source.path.split('.').slice(1), value)
      }
    })
  })
}

/** A copy of the result with the value at the path. A result that is nothing but a value is left out. */
function placed(result: JsonObject, [first, ...rest]: readonly string[], value: JsonValue): JsonObject {
  if (first === undefined) return result
  if (rest.length === 0) return { ...result, [first]: value }
  const inner = result[first]
  const object = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner : {}
  return { ...result, [first]: placed(object, rest, value) }
}

/**
 * Calls that were blocked when they were captured are expected to be blocked again; the others to pass, also those that a
 * verdict without force (`shadow`, `advisory`) would have blocked: they ran.
 */
export function capturedExpectation(
  items: readonly StoredCapture[],
): (turn: number, call: number) => 'allow' | 'block' {
  return (turn, call) => {
    const validation = items[turn]?.validation
    if (validation?.mode !== 'enforce') return 'allow'
    return validation.calls.find(({ index }) => index === call)?.decision ?? 'allow'
  }
}

export function fixtureSession(fixture: RunFixture, agent: string | null): NamedSession {
  return {
    name: fixture.name,
    agent,
    user: fixture.user ?? [],
    ...(fixture.labels !== undefined && { labels: fixture.labels }),
    ...(fixture.principal !== undefined && { principal: fixture.principal }),
    turns: fixture.turns.map(({ calls }) => ({
      calls: calls.map(({ name, arguments: given, result }) => ({
        name,
        arguments: given,
        ...(result === undefined ? {} : { results: [result satisfies JsonValue] }),
      })),
    })),
  }
}
