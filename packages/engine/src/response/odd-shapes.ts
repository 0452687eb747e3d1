import { disguisesOf } from '../text/alike-names.js'
import { plainText } from '../text/cut-text.js'
import { asText } from './read-call.js'

/** A wire format whose calls are read. */
export type WireFormat = 'openai-chat' | 'openai-responses' | 'anthropic' | 'normalized'

/** An answer without what only some readers take for calls, and the first of it; null where there is none. */
export interface Cleaned<Value> {
  readonly value: Value
  readonly problem: string | null
}

/**
 * Looks through a whole answer, or an event of its stream, for what another reader may take for a call that is not judged:
 * something like a call where none is known, of a kind that is not known, or under names that differ from the known ones in
 * case alone. An answer without any is given back itself.
 */
export function withoutOddShapes<Value>(answer: Value, format: WireFormat, part: 'whole' | 'event'): Cleaned<Value> {
  const found: Found = { problem: null }
  const value = look(answer, PLACES[format][part], 0, found)
  return found.problem === null ? { value: answer, problem: null } : { value: value as Value, problem: found.problem }
}

/** Whether anything in a value, wherever it stands, looks like a call. */
export const holdsCallShape = (value: unknown): boolean => {
  const found: Found = { problem: null }
  look(value, NOWHERE, 0, found)
  return found.problem !== null
}

interface Found {
  problem: string | null
}

/** Where calls are known to stand, as a tree of names; lists have no names. */
interface Place {
  readonly members: ReadonlyMap<string, Place>
  /** Whether something like a call may stand here. */
  readonly isKnown: ((call: Members) => boolean) | null
}

type Members = Readonly<Record<string, unknown>>

const GONE = Symbol('gone')

/** The same value where it has nothing odd, else a copy without that, or `GONE`. */
function look(value: unknown, place: Place | null, depth: number, found: Found): unknown {
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return value
  if (Array.isArray(value)) return lookThroughList(value, place, depth, found)
  const members = value as Members
  const isCall = isLikeCall(members)
  if (isCall && place?.isKnown?.(members) !== true) {
    const kind = asText(members.type)
    note(found, `${kind === null ? 'something' : shown(kind)} looks like a call and is of no kind that is known here`)
    return GONE
  }
  let copy: Record<string, unknown> | null = null
  for (const name of Object.keys(members)) {
    if (place !== null && isDisguised(name)) {
      note(found, `some readers take the member ${shown(name)} for another one`)
      copy ??= { ...members }
      delete copy[name]
      continue
    }
    const member = members[name]
    // What a call is made of may look like anything.
    if (isCall || typeof member !== 'object' || member === null || NO_CALLS.has(name)) continue
    const kept = look(member, place?.members.get(name) ?? null, depth + 1, found)
    if (kept === member) continue
    copy ??= { ...members }
    if (kept === GONE) delete copy[name]
    else copy[name] = kept
  }
  return copy ?? value
}

function lookThroughList(
  list: readonly unknown[],
  place: Place | null,
  depth: number,
  found: Found,
): readonly unknown[] {
  let copy: unknown[] | null = null
  for (let at = 0; at < list.length; at++) {
    const kept = look(list[at], place, depth + 1, found)
    if (kept !== list[at]) copy ??= list.slice(0, at)
    if (kept !== GONE) copy?.push(kept)
  }
  return copy ?? list
}

/** No reader of an answer goes deeper for its calls. */
const DEEPEST = 16

const isLikeCall = (members: Members): boolean =>
  typeof members.name === 'string' && (members.arguments !== undefined || members.input !== undefined)

function note(found: Found, what: string): void {
  found.problem ??= `${what}: leave it out, or update Countersign if the provider has added it`
}

const SHOWN_LENGTH = 64
const shown = (name: string): string => plainText(JSON.stringify(name), SHOWN_LENGTH)

/** Members with data of others, and what was offered. */
const NO_CALLS: ReadonlySet<string> = new Set(['logprobs', 'tools', 'usage', 'metadata', 'instructions', 'results'])

const always = (): boolean => true

const CHAT = ['tool_calls.function', 'tool_calls.custom', 'function_call']
const chatAt = (holder: string) => CHAT.map((call) => [`choices.${holder}.${call}`, always] as const)

const ITEMS: ReadonlySet<string> = new Set(['function_call', 'custom_tool_call', 'mcp_call', 'mcp_approval_request'])
/** A built-in tool that the program runs is judged, whatever its type. */
const isItem = ({ type, call_id }: Members): boolean =>
  ITEMS.has(asText(type) ?? '') || (asText(type)?.endsWith('_call') === true && typeof call_id === 'string')

/** Events that bring a call piece by piece name it themselves. */
const isPartOfItem = ({ type }: Members): boolean =>
  /^response\.(?:function_call_arguments|custom_tool_call_input|mcp_call_arguments)\.\w+$/.test(asText(type) ?? '')

const BLOCKS: ReadonlySet<string> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use'])
const isBlock = ({ type }: Members): boolean => BLOCKS.has(asText(type) ?? '')

const PLACES: Readonly<Record<WireFormat, Readonly<Record<'whole' | 'event', Place>>>> = {
  'openai-chat': { whole: treeOf(chatAt('message')), event: treeOf([...chatAt('message'), ...chatAt('delta')]) },
  'openai-responses': {
    whole: treeOf([['output', isItem]]),
    event: treeOf([
      ['', isPartOfItem],
      ['item', isItem],
      ['response.output', isItem],
    ]),
  },
  anthropic: {
    whole: treeOf([['content', isBlock]]),
    event: treeOf([
      ['content_block', isBlock],
      ['message.content', isBlock],
    ]),
  },
  normalized: {
    whole: treeOf([
      ['tool_calls', always],
      ['provider_run', always],
    ]),
    event: treeOf([]),
  },
}

const NOWHERE = treeOf([])

const isDisguised = disguisesOf([
  ...['choices', 'message', 'delta', 'tool_calls', 'function_call', 'function', 'custom', 'output', 'content'],
  ...[
    'item',
    'response',
    'content_block',
    'type',
    'id',
    'call_id',
    'index',
    'output_index',
    'name',
    'arguments',
    'input',
  ],
])

type Written = readonly (readonly [path: string, isKnown: (call: Members) => boolean])[]

function treeOf(written: Written): Place {
  const here = written.find(([path]) => path === '')
  const names = new Map<string, (typeof written)[number][]>()
  for (const [path, isKnown] of written) {
    if (path === '') continue
    const [first = '', ...rest] = path.split('.')
    names.set(first, [...(names.get(first) ?? []), [rest.join('.'), isKnown]])
  }
  const members = new Map([...names].map(([name, below]) => [name, treeOf(below)] as const))
  return { members, isKnown: here?.[1] ?? null }
}
