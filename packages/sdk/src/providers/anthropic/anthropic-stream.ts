import { kindOfBlock, parseStrictJson } from '@countersign/engine'
import { isObject, type JsonObject, objects, text, without } from '../../base/json-object.js'
import { quoteName } from '../../base/quote-name.js'
import { type Numbered, newIndex, nextIndex, runOf } from '../numbering.js'
import type { StreamHold } from '../provider.js'
import { pieceText, sameArguments } from '../same-arguments.js'

interface Block extends Numbered {
  fields: JsonObject
  /** The input as it came, in pieces; null while none came. */
  inputJson: string | null
  /** The program saw it begin before the hold. */
  flowed: boolean
  /** A program may have taken it for whole. */
  ended: boolean
}

interface Held {
  event: JsonObject
  /** The block that the event is about; null for events about the message. */
  block: Block | null
}

/** A block of type `tool_use` is a call. What the provider runs itself has types of its own. */
export function readMessageStream(_request: JsonObject, { holdAll = false } = {}): StreamHold {
  const blocks: Block[] = []
  const open = new Map<unknown, Block>()
  /** The blocks of the message in the order they came: the client puts its parts together by place. */
  let placed: Block[] = []
  const held: Held[] = []
  let message: JsonObject = {}
  let crossed: string | null = null
  let holding = holdAll
  let complete = false

  const start = (event: JsonObject): Block => {
    const last = blocks.at(-1)
    const index = typeof event.index === 'number' ? event.index : (last?.index ?? -1) + 1
    const fields = isObject(event.content_block) ? { ...event.content_block } : {}
    holding ||= fields.type === 'tool_use'
    const block = { index, run: runOf(blocks, index), fields, inputJson: null, flowed: !holding, ended: false }
    blocks.push(block)
    placed.push(block)
    open.set(event.index, block)
    return block
  }

  const blockOf = (event: JsonObject): Block | null => {
    if (event.type === 'content_block_start') return start(event)
    if (event.type !== 'content_block_delta' && event.type !== 'content_block_stop') return null
    return open.get(event.index) ?? null
  }

  const take = (event: JsonObject): JsonObject[] => {
    const block = blockOf(event)
    if (block !== null && isInput(event) && kindOfBlock(block.fields) === 'unknown') {
      crossed ??= `input came for a block of an unknown kind, ${quoteName(text(block.fields.type))}`
      holding = true
    }
    if (holding) crossed ??= crossing(event, block, placed)
    if (event.type === 'message_start' && isObject(event.message)) {
      message = { ...message, ...event.message }
      placed = []
      for (const content_block of objects(event.message.content)) start({ index: undefined, content_block })
    }
    if (event.type === 'content_block_delta' && block !== null && isObject(event.delta)) addDelta(block, event.delta)
    if (event.type === 'message_delta') message = withMessageDelta(message, event)
    if (event.type === 'message_stop') complete = true
    if (!holding) return [event]
    held.push({ event, block })
    return []
  }

  const contradiction = (): string | null => crossed ?? blocks.map(twoInputs).find((two) => two !== null) ?? null

  return {
    take,
    doubt: (problem) => {
      crossed ??= problem
      holding = true
    },
    holding: () => holding,
    complete: () => complete,
    response: () => ({ ...message, content: blocks.map(wholeBlock) }),
    contradiction,
    release: () => held.map(({ event }) => event),
    releaseOnly: (allowedIds, said) => {
      const contradicts = contradiction() !== null
      const isGone = (block: Block): boolean =>
        contradicts ? !block.flowed : isCall(block) && !allowedIds.has(text(block.fields.id))
      const gone = new Set(blocks.filter(isGone))
      const callsLeft = blocks.some((block) => isCall(block) && !gone.has(block))
      const left = contradicts ? held.filter(({ event }) => text(event.type).startsWith('message_')) : held
      const events = left.flatMap((one) => rewrite(one, gone, callsLeft))
      return said === undefined ? events : withText(events, said, nextIndex(blocks, gone))
    },
  }
}

const isCall = (block: Block | null | undefined): boolean => block?.fields.type === 'tool_use'

const isInput = (event: JsonObject): event is JsonObject & { delta: JsonObject } =>
  isObject(event.delta) && event.delta.type === 'input_json_delta'

/**
 * Why a part of a block may be read in two ways: the client finds its block by place, counted from the end where the
 * number is negative, and puts it back at the number as it stands. It takes the last block for whole at the end of any.
 */
function crossing(event: JsonObject, block: Block | null, placed: readonly Block[]): string | null {
  const atPlace = placed.at(event.index as number)
  const back = typeof event.index === 'number' ? placed[event.index] : undefined
  if (event.type === 'content_block_stop') {
    for (const one of [block, atPlace, placed.at(-1)]) if (one) one.ended = true
  }
  const added = isInput(event) ? event.delta.partial_json : undefined
  if (added === undefined || !(isCall(block) || isCall(atPlace))) return null
  if (block !== atPlace || block !== back)
    return `input under the number ${JSON.stringify(event.index ?? null)} may belong to two blocks`
  return block?.ended && added !== '' ? `the input of ${nameOf(block)} goes on after its end` : null
}

/** A block begins with an empty input, or with the whole. The deltas replace it, even when they are empty. */
function twoInputs(block: Block): string | null {
  const { input } = block.fields
  if (!isCall(block) || block.inputJson === null || sameArguments(input ?? '', '')) return null
  return sameArguments(input, block.inputJson)
    ? null
    : `${nameOf(block)} has two inputs, as its block begins and in its deltas`
}

const nameOf = ({ fields }: Block): string => `call ${quoteName(text(fields.id))} of ${quoteName(text(fields.name))}`

function addDelta(block: Block, delta: JsonObject): void {
  const { fields } = block
  switch (delta.type) {
    case 'text_delta':
      fields.text = text(fields.text) + text(delta.text)
      break
    case 'thinking_delta':
      fields.thinking = text(fields.thinking) + text(delta.thinking)
      break
    case 'signature_delta':
      fields.signature = delta.signature
      break
    case 'citations_delta':
      fields.citations = [...(Array.isArray(fields.citations) ? fields.citations : []), delta.citation]
      break
    case 'input_json_delta':
      block.inputJson = (block.inputJson ?? '') + pieceText(delta.partial_json)
      break
    case 'compaction_delta':
      fields.content = delta.content
      break
  }
}

/** Counts are totals of the whole message, left out where they do not apply. */
function withMessageDelta(message: JsonObject, event: JsonObject): JsonObject {
  const usage = isObject(message.usage) ? { ...message.usage } : {}
  for (const [key, value] of Object.entries(isObject(event.usage) ? event.usage : {})) {
    if (value !== null && value !== undefined) usage[key] = value
  }
  const delta = isObject(event.delta) ? event.delta : {}
  const rest = without(event, 'type', 'delta', 'usage')
  return { ...message, ...rest, ...delta, usage }
}

/** Input that is no strict JSON stays the text it is, so that it is judged as malformed: which of two equal keys counts is unknown. */
function wholeBlock({ fields, inputJson }: Block): JsonObject {
  if (inputJson === null || inputJson === '') return fields
  const parsed = parseStrictJson(inputJson)
  return { ...fields, input: parsed.ok ? parsed.value : inputJson }
}

export function endedByCalls(stopReason: unknown): boolean {
  return stopReason === 'tool_use'
}

function rewrite({ event, block }: Held, gone: ReadonlySet<Block>, callsLeft: boolean): JsonObject[] {
  if (block !== null) {
    if (gone.has(block)) return []
    return [{ ...event, index: newIndex(block, gone) }]
  }
  if (event.type === 'message_start' && isObject(event.message)) {
    const ids = [...gone].map(({ fields }) => text(fields.id))
    const content = objects(event.message.content).filter(
      (one) => one.type !== 'tool_use' || !ids.includes(text(one.id)),
    )
    return [{ ...event, message: { ...event.message, content } }]
  }
  // A part of a block that never started belongs to nothing that was judged.
  if (text(event.type).startsWith('content_block_')) return []
  if (event.type !== 'message_delta' || !isObject(event.delta)) return [event]
  if (callsLeft || !endedByCalls(event.delta.stop_reason)) return [event]
  return [{ ...event, delta: { ...event.delta, stop_reason: 'end_turn' } }]
}

/** Before the calls that stay, as what follows them must be their results; else at the end. */
function withText(events: JsonObject[], said: string, nextIndex: number): JsonObject[] {
  const call = events.findIndex(({ content_block: block }) => isObject(block) && block.type === 'tool_use')
  const first = events[call]?.index
  if (typeof first === 'number') {
    const later = events.slice(call).map((event) => (Number(event.index) >= first ? moved(event) : event))
    return [...events.slice(0, call), ...textEvents(said, first), ...later]
  }
  const end = events.findLastIndex((event) => event.type === 'message_delta')
  const added = textEvents(said, nextIndex)
  return end === -1 ? [...events, ...added] : [...events.slice(0, end), ...added, ...events.slice(end)]
}

const moved = (event: JsonObject): JsonObject => ({ ...event, index: Number(event.index) + 1 })

const textEvents = (said: string, index: number): JsonObject[] => [
  { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index, delta: { type: 'text_delta', text: said } },
  { type: 'content_block_stop', index },
]
