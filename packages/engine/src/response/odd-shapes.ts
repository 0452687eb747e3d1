import { disguisesOf } from '../text/alike-names.js'
import { plainText } from '../text/cut-text.js'
import { inputOfBlock, inputOfItem, inputsIn, type Kind, kindOfBlock, kindOfItem } from './kinds.js'
import { asRecord, asText } from './read-call.js'

/** A wire format whose calls are read. */
export type WireFormat = 'openai-chat' | 'openai-responses' | 'anthropic' | 'normalized'

/** An answer without what only some readers take for calls, and the first of it; null where there is none. */
export interface Cleaned<Value> {
  readonly value: Value
  readonly problem: string | null
}

/**
 * Looks where the calls of an answer, or of an event of its stream, stand, for what another reader may take for a call
 * that is not judged: a call of an unknown kind or with a second input, and members whose names differ from known ones in
 * case alone. An answer without any is given back itself.
 */
export function withoutOddShapes<Value>(answer: Value, format: WireFormat, part: 'whole' | 'event'): Cleaned<Value> {
  const found: Found = { part, problem: null }
  const value = look(answer, PLACES[format][part], found)
  return found.problem === null ? { value: answer, problem: null } : { value: value as Value, problem: found.problem }
}

/** Whether a body that is no answer, such as an error, holds calls where answers have them. */
export const holdsCallShape = (body: unknown): boolean =>
  Object.entries(asRecord(body) ?? {}).some(
    ([name, value]) => (ROOTS.has(name) || isDisguised(name)) && holdsCall(value, 'whole', DEEPEST_IN_ERRORS),
  )

type Part = 'whole' | 'event'
type Members = Readonly<Record<string, unknown>>

interface Found {
  readonly part: Part
  problem: string | null
}

/** An object, or a list of them, in which calls are known to stand. */
interface Place {
  /** Where to look on. */
  readonly below?: Readonly<Record<string, Place>>
  /** Members with data of others, and with what was asked and offered. */
  readonly skipped?: ReadonlySet<string>
  /** `known`: nothing in it is looked at. `open`: its members are. `odd`: it goes. */
  readonly read: (members: Members, part: Part) => 'known' | 'open' | 'odd'
}

const GONE = Symbol('gone')

/** The same value where it has nothing odd, else a copy without that, or `GONE`. */
function look(value: unknown, place: Place, found: Found): unknown {
  if (Array.isArray(value)) return lookThroughList(value, place, found)
  const members = asRecord(value)
  if (members === null) return value
  const kind = place.read(members, found.part)
  if (kind === 'odd') {
    const type = asText(members.type)
    return odd(found, `${type === null ? 'something' : shown(type)} ${UNKNOWN_CALL}`)
  }
  let copy: Record<string, unknown> | null = null
  // Twice as fast as a list of the members, and every turn is looked through.
  for (const name in members) {
    const member = members[name]
    const kept = isDisguised(name)
      ? odd(found, `some readers take the member ${shown(name)} for another one`)
      : kind === 'known' || typeof member !== 'object' || place.skipped?.has(name)
        ? member
        : lookBelow(name, member, place.below?.[name], found)
    if (kept === member) continue
    copy ??= { ...members }
    if (kept === GONE) delete copy[name]
    else copy[name] = kept
  }
  return copy ?? value
}

function lookBelow(name: string, member: unknown, place: Place | undefined, found: Found): unknown {
  if (place !== undefined) return look(member, place, found)
  if (!holdsCall(member, found.part, DEEPEST)) return member
  return odd(found, `${shown(name)} ${UNKNOWN_CALL}`)
}

function lookThroughList(list: readonly unknown[], place: Place, found: Found): readonly unknown[] {
  let copy: unknown[] | null = null
  for (let at = 0; at < list.length; at++) {
    const kept = look(list[at], place, found)
    if (kept !== list[at]) copy ??= list.slice(0, at)
    if (kept !== GONE) copy?.push(kept)
  }
  return copy ?? list
}

/** How many objects stand around a call, in a member that is not known and in the one that holds all of an answer. */
const DEEPEST = 3
const DEEPEST_IN_ERRORS = 5

function holdsCall(value: unknown, part: Part, depth: number): boolean {
  if (depth < 0 || typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some((one) => holdsCall(one, part, depth - (Array.isArray(one) ? 1 : 0)))
  return isLikeCall(value as Members, part) || Object.values(value).some((one) => holdsCall(one, part, depth - 1))
}

/** An event may bring a call in pieces: its name first, and its input later. */
function isLikeCall(members: Members, part: Part): boolean {
  const isNamed = typeof members.name === 'string'
  const hasInput = inputsIn(members).length > 0
  if (part === 'whole') return isNamed && hasInput
  return hasInput || (isNamed && (members.id ?? members.call_id) !== undefined)
}

function odd(found: Found, what: string): typeof GONE {
  found.problem ??= what
  return GONE
}

const UNKNOWN_CALL = 'looks like a call of an unknown kind: call one of the offered tools'

const SHOWN_LENGTH = 64
const shown = (name: string): string => plainText(JSON.stringify(name), SHOWN_LENGTH)

const open: Place['read'] = (members, part) => (isLikeCall(members, part) ? 'odd' : 'open')

/** A call has its input under one name: another reader could take another. */
const callWith = (input: 'arguments' | 'input'): Place => ({
  read: (members) => (inputsIn(members).every((name) => name === input) ? 'known' : 'odd'),
})

const ofKinds =
  (kindOf: (members: Members) => Kind, inputOf: typeof inputOfItem): Place['read'] =>
  (members, part) => {
    const kind = kindOf(members)
    if (kind === 'unknown') return (members.call_id ?? null) === null ? open(members, part) : 'odd'
    const input = kind === 'call' ? inputOf(members) : null
    return input === null ? 'known' : callWith(input).read(members, part)
  }

const ECHOED: ReadonlySet<string> = new Set([
  ...['tools', 'tool_choice', 'usage', 'metadata', 'instructions', 'prompt', 'text', 'reasoning', 'logprobs'],
  ...['annotations', 'annotation', 'audio', 'citations', 'reasoning_details', 'executed_tools'],
  ...['search_results', 'provider_specific_fields', 'context_management', 'extra_content', 'error'],
])

const place = (below: Readonly<Record<string, Place>>, read = open): Place => ({ below, skipped: ECHOED, read })

const parts = place({})
const chatCall = place({ function: callWith('arguments'), custom: callWith('input') }, (members) =>
  inputsIn(members).length > 0 || members.name !== undefined ? 'odd' : 'open',
)
const chatMessage = place({ content: parts, tool_calls: chatCall, function_call: callWith('arguments') })

const item = place({ content: parts }, ofKinds(kindOfItem, inputOfItem))
const response = place({ output: item })
/** Events that bring a call piece by piece name it themselves. */
const PART_OF_ITEM = /^response\.(?:function_call_arguments|custom_tool_call_input|mcp_call_arguments)\.\w+$/
const responseEvent = place({ item, response, part: parts }, (members, part) =>
  PART_OF_ITEM.test(asText(members.type) ?? '') && inputsIn(members).length <= 1 ? 'open' : open(members, part),
)

const block = place({}, ofKinds(kindOfBlock, inputOfBlock))
const message = place({ content: block })
const delta = place({}, (members, part) =>
  members.type === 'input_json_delta' && inputsIn(members).every((name) => name === 'partial_json')
    ? 'open'
    : open(members, part),
)

const known = (): 'known' => 'known'
const normalized = place({ tool_calls: callWith('arguments'), provider_run: { read: known } })

const PLACES: Readonly<Record<WireFormat, Readonly<Record<Part, Place>>>> = {
  'openai-chat': {
    whole: place({ choices: place({ message: chatMessage }) }),
    event: place({ choices: place({ message: chatMessage, delta: chatMessage }) }),
  },
  'openai-responses': { whole: response, event: responseEvent },
  anthropic: { whole: message, event: place({ message, content_block: block, delta }) },
  normalized: { whole: normalized, event: place({}) },
}

const ROOTS: ReadonlySet<string> = new Set(['choices', 'output', 'content', 'tool_calls'])

const isDisguised = disguisesOf([
  ...['choices', 'message', 'delta', 'tool_calls', 'function_call', 'function', 'custom', 'output', 'content'],
  ...['item', 'response', 'content_block', 'type', 'id', 'call_id', 'index', 'output_index'],
  ...['name', 'arguments', 'input', 'partial_json'],
])
