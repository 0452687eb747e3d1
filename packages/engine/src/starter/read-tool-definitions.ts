import { type JsonObject, type JsonValue, LIMITS, type SideEffect } from '@countersign/protocol'

/** A tool as a program, a provider or an MCP server describes it. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string | null
  /** JSON Schema of the arguments; null if the definition has none. */
  readonly schema: JsonObject | null
  /** Declared by an MCP server; null: unknown. */
  readonly sideEffect: SideEffect | null
  /** The provider runs it by itself. */
  readonly byProvider: boolean
}

export type ToolReading =
  | { readonly ok: true; readonly tools: readonly ToolDefinition[]; readonly isPart: boolean }
  | { readonly ok: false; readonly problem: string }

/**
 * Reads the tools of a request to OpenAI (chat, responses) or Anthropic, or of an MCP server's `tools/list`: the list
 * itself, or an object that holds it under `tools` or `result.tools`.
 */
export function readToolDefinitions(value: JsonValue): ToolReading {
  const inner = isObject(value) && isObject(value.result) ? value.result : value
  const list = isObject(inner) ? inner.tools : inner
  if (!Array.isArray(list)) return refused('it holds no list of tools: pass a list, or an object with `tools`')
  const tools: ToolDefinition[] = []
  for (const [index, item] of flattened(list).entries()) {
    const tool = isObject(item) ? readTool(item) : null
    if (tool === null) return refused(`tool ${index + 1} has no name: expected the definition of a tool`)
    if (tool.name.length > LIMITS.toolNameLength)
      return refused(`the name of tool ${index + 1} is longer than ${LIMITS.toolNameLength} characters`)
    tools.push(tool)
  }
  if (tools.length === 0) return refused('the list of tools is empty')
  if (tools.length > MAX_TOOLS) return refused(`it holds more than ${MAX_TOOLS} tools`)
  const twice = tools.find(({ name }, index) => tools.findIndex((other) => other.name === name) < index)
  if (twice !== undefined) return refused(`it names the tool ${JSON.stringify(twice.name)} twice`)
  return { ok: true, tools, isPart: isObject(inner) && typeof inner.nextCursor === 'string' }
}

/** As many as a folder of contracts may hold, with room for more. */
const MAX_TOOLS = 1_000

const refused = (problem: string): ToolReading => ({ ok: false, problem })
const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A namespace of OpenAI has only the names of its tools. */
const flattened = (list: readonly JsonValue[]): readonly JsonValue[] =>
  list.flatMap((item) =>
    isObject(item) && item.type === 'namespace' && Array.isArray(item.tools) ? flattened(item.tools) : [item],
  )

function readTool(item: JsonObject): ToolDefinition | null {
  const inner = [item.function, item.custom].find(isObject) ?? item
  const byProvider = isRunByProvider(item)
  const name = byProvider ? item.type : inner.name
  if (typeof name !== 'string' || name === '') return null
  const schema = [inner.parameters, inner.input_schema, inner.inputSchema].find(isObject) ?? null
  return {
    name,
    description: typeof inner.description === 'string' && inner.description !== '' ? inner.description : null,
    schema,
    sideEffect: isObject(inner.annotations) ? declaredEffect(inner.annotations) : null,
    byProvider,
  }
}

/** Tools such as `web_search` have a type and no function; those of Anthropic that the program runs have a dated one. */
const isRunByProvider = ({ type }: JsonObject): boolean =>
  typeof type === 'string' && type !== 'function' && type !== 'custom' && !RUN_BY_PROGRAM.test(type)
const RUN_BY_PROGRAM = /^(bash|text_editor|computer|memory)_\d{8}$/

function declaredEffect({ readOnlyHint, destructiveHint, openWorldHint }: JsonObject): SideEffect | null {
  if (readOnlyHint === true) return openWorldHint === true ? 'egress_read' : 'read'
  return destructiveHint === true ? 'destructive' : null
}
