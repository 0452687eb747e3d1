/** One event of a stream: the text as it came, with the blank line at its end, and what it carries. */
export interface StreamEvent {
  readonly raw: string
  /** Null where it carries nothing, such as a comment that keeps the connection open. */
  readonly data: string | null
}

/** The largest event that is read. */
const MAX_EVENT_LENGTH = 32 * 1024 * 1024

/** The events of a body, as they come. Each character is looked at once, however small the pieces of an event are. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder()
  let before: string[] = []
  let length = 0
  /** The end of what came, which may be the beginning of a blank line. */
  let last = ''
  for await (const chunk of body) {
    let text = last + decoder.decode(chunk, { stream: true })
    for (let end = BLANK_LINE.exec(text); end !== null; end = BLANK_LINE.exec(text)) {
      const at = end.index + end[0].length
      yield eventIn([...before, text.slice(0, at)].join(''))
      before = []
      length = 0
      text = text.slice(at)
    }
    last = text.slice(-LONGEST_END)
    before.push(text.slice(0, text.length - last.length))
    length += text.length - last.length
    if (length > MAX_EVENT_LENGTH) throw new Error('the server sent an event above 32 MB')
  }
}

/** Two line ends of any kind, as clients read them. */
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n)){2}/
const LONGEST_END = '\r\n\r\n'.length - 1

function eventIn(raw: string): StreamEvent {
  const lines = raw.split(/\r\n|\n|\r/).filter((line) => line === 'data' || line.startsWith('data:'))
  return { raw, data: lines.length === 0 ? null : lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n') }
}

export const messageEvent = (text: string): string => `event: message\ndata: ${text}\n\n`

/** The same event with another message in it: its id, by which clients resume, stays. */
export function withMessage({ raw }: StreamEvent, text: string): string {
  const kept = raw.split(/\r\n|\n|\r/).filter((line) => line !== '' && line !== 'data' && !line.startsWith('data:'))
  return `${[...kept, `data: ${text}`].join('\n')}\n\n`
}
