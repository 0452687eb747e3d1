import { asRecord, asText } from './read-call.js'

type Members = Readonly<Record<string, unknown>>

/** Items of the Responses API that ask the program to run something, and where their input is. Null: all of them is. */
const CALL_ITEMS: ReadonlyMap<string, 'arguments' | 'input' | null> = new Map([
  ['function_call', 'arguments'],
  ['custom_tool_call', 'input'],
  ['tool_search_call', null],
] as const)

/** Items for tools that the provider runs. */
const RUN_ITEMS: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'program',
])

/** Items that ask for nothing: what was thought, what came of a call, which tools there are. */
const QUIET_ITEMS: ReadonlySet<string> = new Set([
  'reasoning',
  'compaction',
  'compaction_summary',
  'compaction_trigger',
  'additional_tools',
  'mcp_approval_response',
])

/** Blocks of the Messages API for tools that the provider runs. */
const RUN_BLOCKS: ReadonlySet<string> = new Set(['server_tool_use', 'mcp_tool_use'])

const QUIET_BLOCKS: ReadonlySet<string> = new Set([
  'thinking',
  'redacted_thinking',
  'container_upload',
  'compaction',
  'fallback',
  'mcp_tool_listing',
])

/**
 * What an item or block is. `call`: the program is asked to run it. `run`: the provider runs it. `quiet`: it asks for
 * nothing, whatever it holds. `unknown`: nothing here reads it.
 */
export type Kind = 'call' | 'run' | 'quiet' | 'unknown'

export function kindOfItem(item: Members): Kind {
  const type = asText(item.type) ?? ''
  if (CALL_ITEMS.has(type)) return 'call'
  if (RUN_ITEMS.has(type)) return 'run'
  if (QUIET_ITEMS.has(type)) return 'quiet'
  // A new one with a name of its own could be run under that name.
  if (type.endsWith('_call') && typeof item.call_id === 'string' && item.name === undefined) return 'call'
  return type.endsWith('_output') && inputsIn(item).length === 0 ? 'quiet' : 'unknown'
}

export function kindOfBlock({ type: given }: Members): Kind {
  const type = asText(given) ?? ''
  if (type === 'tool_use') return 'call'
  if (RUN_BLOCKS.has(type)) return 'run'
  return QUIET_BLOCKS.has(type) || type.endsWith('_tool_result') ? 'quiet' : 'unknown'
}

/** Where the item of a call has its input; null where all of it counts. */
export const inputOfItem = ({ type }: Members): 'arguments' | 'input' | null =>
  CALL_ITEMS.get(asText(type) ?? '') ?? null

export const inputOfBlock = (): 'input' => 'input'

/** An item that says itself that the provider runs it. */
export const isRunByProvider = (item: Members): boolean =>
  RUN_ITEMS.has(asText(item.type) ?? '') || isInContainer(item) || item.execution === 'server'

export const isInContainer = ({ environment }: Members): boolean =>
  asText(asRecord(environment)?.type)?.startsWith('container') ?? false

/** The names under which one API or another gives a call its input. */
const INPUTS = ['arguments', 'args', 'input', 'parameters', 'partial_json'] as const

export const inputsIn = (members: Members): readonly string[] =>
  INPUTS.filter((name) => members[name] !== undefined && members[name] !== null)
