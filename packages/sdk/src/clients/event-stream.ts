import { type ClientStream, streamOf } from './client-stream.js'

/** The events in the body of a server-sent event stream, as the clients of both providers read them. */
export function readEventStream(body: ReadableStream<Uint8Array>): ClientStream {
  return streamOf(() => eventsIn(body))
}

async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  const reader = body.getReader()
  try {
    for await (const data of dataIn(reader)) {
      if (data === '[DONE]') return
      // What is no JSON is broken for the program too; it must not stand for an event that was judged.
      yield JSON.parse(data)
    }
  } finally {
    // The program may have left: the provider need not go on.
    await reader.cancel().catch(() => {})
  }
}

/** The `data` of each event. Comments, ids and names of events say nothing that the data does not. */
async function* dataIn(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<string> {
  let lines: string[] = []
  for await (const line of linesIn(reader)) {
    if (line.startsWith('data:')) lines.push(line.slice(line[5] === ' ' ? 6 : 5))
    else if (line === '' && lines.length > 0) {
      yield lines.join('\n')
      lines = []
    }
  }
  if (lines.length > 0) yield lines.join('\n')
}

async function* linesIn(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    rest += done ? decoder.decode() : decoder.decode(value, { stream: true })
    // A carriage return at the end may be half of a line end.
    const whole = done ? rest : rest.replace(/\r$/, '')
    const lines = whole.split(/\r\n|\n|\r/)
    rest = (lines.pop() ?? '') + rest.slice(whole.length)
    yield* lines
    if (!done) continue
    if (rest !== '') yield rest
    return
  }
}
