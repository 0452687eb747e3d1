/** One event of a stream: the text as it came, with the blank line at its end, and what it carries. */
export interface StreamEvent {
  readonly raw: string
  /** Null where it carries nothing, such as a comment that keeps the connection open. */
  readonly data: string | null
}

/** The largest event that is read. */
const MAX_EVENT_LENGTH = 32 * 1024 * 1024

/** The events of a body, as they come. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = BLANK_LINE.exec(text); end !== null; end = BLANK_LINE.exec(text)) {
      const at = end.index + end[0].length
      yield eventIn(text.slice(0, at))
      text = text.slice(at)
    }
    if (text.length > MAX_EVENT_LENGTH) throw new Error('the server sent an event above 32 MB')
  }
}

const BLANK_LINE = /\r\n\r\n|\n\n|\r\r/

function eventIn(raw: string): StreamEvent {
  const lines = raw.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'))
  return { raw, data: lines.length === 0 ? null : lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n') }
}

export const messageEvent = (text: string): string => `event: message\ndata: ${text}\n\n`

/** The same event with another message in it: its id, by which clients resume, stays. */
export function withMessage({ raw }: StreamEvent, text: string): string {
  const kept = raw.split(/\r\n|\n|\r/).filter((line) => line !== '' && !line.startsWith('data:'))
  return `${[...kept, `data: ${text}`].join('\n')}\n\n`
}
