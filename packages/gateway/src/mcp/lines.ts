import { StringDecoder } from 'node:string_decoder'

/** The largest message that is read from a pipe. */
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024

export interface LineReader {
  /** Bytes of a stream, in order. */
  take(chunk: Buffer): void
}

/** Cuts a stream into lines. One that is too long is dropped, and `onTooLong` is called once for it. */
export function createLineReader(onLine: (line: string) => void, onTooLong: () => void, maxBytes = MAX_MESSAGE_BYTES) {
  let decoder = new StringDecoder('utf8')
  let parts: string[] = []
  let bytes = 0
  let isDropping = false

  const add = (piece: Buffer): void => {
    if (isDropping) return
    bytes += piece.length
    if (bytes <= maxBytes) return void parts.push(decoder.write(piece))
    isDropping = true
    parts = []
    onTooLong()
  }
  const end = (): void => {
    const line = isDropping ? '' : (parts.join('') + decoder.end()).trim()
    decoder = new StringDecoder('utf8')
    parts = []
    bytes = 0
    isDropping = false
    if (line !== '') onLine(line)
  }

  return {
    take(chunk) {
      let from = 0
      for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, from)) {
        add(chunk.subarray(from, at))
        end()
        from = at + 1
      }
      if (from < chunk.length) add(chunk.subarray(from))
    },
  } satisfies LineReader
}
