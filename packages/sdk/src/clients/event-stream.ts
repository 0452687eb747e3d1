import { isObject } from '../base/json-object.js'
import { type ClientStream, streamOf } from './client-stream.js'
import { parseReceived, type ReceivedTexts } from './received-texts.js'

/**
 * The events in the body of a server-sent event stream, as the clients of both providers read them. `texts` remembers
 * how each event was written and, under the stream itself, what followed the last one.
 */
export function readEventStream(
  body: ReadableStream<Uint8Array>,
  { texts = new WeakMap(), binds = true }: { readonly texts?: ReceivedTexts; readonly binds?: boolean } = {},
): ClientStream {
  const stream: ClientStream = streamOf(() => eventsIn(body, { texts, binds }, (rest) => texts.set(stream, rest)))
  return stream
}

async function* eventsIn(
  body: ReadableStream<Uint8Array>,
  { texts, binds }: { readonly texts: ReceivedTexts; readonly binds: boolean },
  ended: (rest: string) => void,
): AsyncGenerator<unknown> {
  const reader = body.getReader()
  /** What stands between two events: comments. */
  let between = ''
  try {
    for await (const block of blocksIn(reader)) {
      const { data, text } = block
      if (data === '[DONE]') {
        const end = plainText(block, null)
        if (end !== '') ended(between + end)
        return
      }
      if (data === null) {
        between += plainText(block, null)
        continue
      }
      // What is no JSON is broken for the program too; it must not stand for an event that was judged.
      const event = parseReceived(data, texts, { text: between + text, binds })
      between = ''
      if (isObject(event) && plainText(block, event) === '') texts.delete(event)
      yield event
    }
    ended(between)
  } finally {
    // The program may have left: the provider need not go on.
    await reader.cancel().catch(() => {})
  }
}

const PLAIN = /^(?:data:.*|event: ?[\w.]*|id:[\x20-\x7e]*|retry: ?\d*|:[\x20-\x7e]*)?$/s

/**
 * The text of a block, if every client reads the same in it: lines of known fields, and no name but that of the event.
 * Clients skip events by their names, so that another name would hide what was judged. Otherwise empty.
 */
function plainText({ lines, text }: Block, event: object | null): string {
  const type: unknown = event === null ? undefined : Reflect.get(event, 'type')
  const isPlain = lines.every((line) => {
    if (!PLAIN.test(line)) return false
    return !line.startsWith('event:') || line.slice(6).trim() === type
  })
  return isPlain ? text : ''
}

/** A block of lines up to an empty one, as it was written; `data` is null where it has none, as a comment. */
interface Block {
  readonly data: string | null
  readonly lines: readonly string[]
  readonly text: string
}

/** Comments, ids and names of events say nothing that the data does not. */
async function* blocksIn(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Block> {
  let lines: string[] = []
  let text = ''
  for await (const [line, end] of linesIn(reader)) {
    text += line + end
    if (line !== '') {
      lines.push(line)
      continue
    }
    yield { data: dataIn(lines), lines, text }
    lines = []
    text = ''
  }
  if (text !== '') yield { data: dataIn(lines), lines, text }
}

function dataIn(lines: readonly string[]): string | null {
  const data = lines.filter((line) => line.startsWith('data:'))
  return data.length === 0 ? null : data.map((line) => line.slice(line[5] === ' ' ? 6 : 5)).join('\n')
}

/** Each line with what ends it. */
async function* linesIn(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<[line: string, end: string]> {
  const decoder = new TextDecoder()
  let held: string[] = []
  for (;;) {
    const { value, done } = await reader.read()
    held.push(done ? decoder.decode() : decoder.decode(value, { stream: true }))
    // A line that comes in many pieces is not looked through again with each.
    if (!done && !held.slice(-2).some((piece) => /[\r\n]/.test(piece))) continue
    const rest = held.join('')
    // A carriage return at the end may be half of a line end.
    const whole = done ? rest : rest.replace(/\r$/, '')
    let at = 0
    for (const { 0: end, index } of whole.matchAll(/\r\n|\n|\r/g)) {
      yield [whole.slice(at, index), end]
      at = index + end.length
    }
    held = [rest.slice(at)]
    if (!done) continue
    if (held[0] !== '') yield [held[0] ?? '', '']
    return
  }
}
