import type { JsonObject, JsonValue } from '@countersign/protocol'
import { type CompiledPath, locationPath, type PathNode, type PathStep } from '../json/json-path.js'
import { normalizeResponse, type ReadResponse } from './read-response.js'

/** The normalized response as paths see it: a path that goes below `arguments` reads the parsed JSON. */
export interface ResponseView {
  first(path: CompiledPath): JsonValue | undefined
  visit(path: CompiledPath, found: (value: JsonValue, location: readonly PathStep[]) => boolean): void
  nodes(path: CompiledPath): PathNode[]
}

/** Prepares a response for paths. */
export function viewResponse(read: ReadResponse): ResponseView {
  const normalized = normalizeResponse(read)
  const opened: JsonObject = {
    ...normalized,
    tool_calls: read.calls.map((call) => ({
      id: call.id,
      name: call.name,
      arguments: call.arguments ?? call.argumentsText,
    })),
  }
  const visit: ResponseView['visit'] = (path, found) => {
    path.visit(opened, (value, location) =>
      found(isBelowArguments(location) ? value : closed(location, normalized), location),
    )
  }
  return {
    visit,
    nodes(path) {
      const nodes: PathNode[] = []
      visit(path, (value, location) => {
        nodes.push({ path: locationPath(location), location: [...location], value })
        return false
      })
      return nodes
    },
    first(path) {
      if (path.steps !== null) return path.first(isBelowArguments(path.steps) ? opened : normalized)
      let first: JsonValue | undefined
      visit(path, (value) => {
        first = value
        return true
      })
      return first
    },
  }
}

/** `tool_calls`, an index, `arguments`, and then at least one step inside. */
const STEPS_TO_ARGUMENTS = 3

function isBelowArguments(location: readonly (string | number)[]): boolean {
  return location.length > STEPS_TO_ARGUMENTS
}

/** What is at the same place with arguments as text. */
function closed(location: readonly PathStep[], normalized: JsonObject): JsonValue {
  let value: JsonValue = normalized
  for (const step of location) value = (value as Record<string | number, JsonValue>)[step] as JsonValue
  return value
}
