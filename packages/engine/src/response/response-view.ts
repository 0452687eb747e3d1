import type { JsonObject, JsonValue } from '@countersign/protocol'
import type { CompiledPath, PathNode } from '../json/json-path.js'
import { normalizeResponse, type ReadResponse } from './read-response.js'

/** The normalized response as paths see it: a path that goes below `arguments` reads the parsed JSON. */
export interface ResponseView {
  first(path: CompiledPath): JsonValue | undefined
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
  const nodes = (path: CompiledPath): PathNode[] =>
    path.nodes(opened).map((node) => (isBelowArguments(node.location) ? node : closed(node, normalized)))
  return {
    nodes,
    first(path) {
      if (path.steps !== null) return path.first(isBelowArguments(path.steps) ? opened : normalized)
      return nodes(path)[0]?.value
    },
  }
}

/** `tool_calls`, an index, `arguments`, and then at least one step inside. */
const STEPS_TO_ARGUMENTS = 3

function isBelowArguments(location: readonly (string | number)[]): boolean {
  return location.length > STEPS_TO_ARGUMENTS
}

/** The same place, with arguments as text. */
function closed(node: PathNode, normalized: JsonObject): PathNode {
  let value: JsonValue = normalized
  for (const step of node.location) value = (value as Record<string | number, JsonValue>)[step] as JsonValue
  return { ...node, value }
}
