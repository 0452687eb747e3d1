import { once } from 'node:events'
import type { FileHandle } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { createGunzip } from 'node:zlib'

/** The lines of a compressed file, one after another, so that one of any size needs little memory. Closes it at the end. */
export async function* gunzippedLines(file: FileHandle): AsyncGenerator<string, undefined> {
  const packed = file.createReadStream()
  const unpacked = packed.pipe(createGunzip()).setEncoding('utf8')
  packed.once('error', (error) => unpacked.destroy(error))
  try {
    yield* linesOf(unpacked)
  } finally {
    packed.destroy()
    unpacked.destroy()
  }
}

/** Whether reading failed because what is there cannot be unpacked. */
export const isUnpackable = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')

/** More than any row has. What unpacks to more is no file of ours, and would fill the memory. */
const LONGEST_LINE = 128_000_000

/** Only a line feed ends a line: from Node 24 on `readline` also splits at U+2028, which JSON does not escape. */
async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string, undefined> {
  let line: string[] = []
  let length = 0
  for await (const chunk of chunks) {
    const [end = '', ...next] = chunk.split('\n')
    line.push(end)
    length += end.length
    if (length > LONGEST_LINE) throw Object.assign(new Error('a line does not end'), { code: 'Z_LINE' })
    for (const start of next) {
      yield line.join('')
      line = [start]
      length = start.length
    }
  }
  const last = line.join('')
  if (last !== '') yield last
}

/** Waits while the other side cannot keep up, so that what is written needs little memory. */
export async function write(to: Writable, chunk: string | Buffer): Promise<void> {
  if (!to.write(chunk)) await once(to, 'drain')
}
