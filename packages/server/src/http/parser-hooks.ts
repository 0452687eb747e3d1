import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/*
 * Node goes on with all that it has read from a connection, also after that was closed, and a read of 64 kB holds 2,500
 * requests, or a body in 10,000 pieces. These hooks of its parser are not documented; where they are missing, what follows
 * is read and dropped.
 */

type Parser = Record<string, unknown> & { onIncoming?: unknown }

const parserOf = (socket: Socket): Parser | null => (socket as Socket & { parser?: Parser | null }).parser ?? null

/** No other request is begun. Two is what a request for another protocol is answered with: the rest is left to others. */
export function stopParsing(socket: Socket): void {
  const parser = parserOf(socket)
  if (parser !== null) parser.onIncoming = () => 2
}

/** A body may come in so many pieces, and in one more for so many bytes. Each takes some microseconds. */
const MOST_PIECES = 1_024
const LEAST_PIECE_BYTES = 64

const cut = new WeakSet<IncomingMessage>()

/** Whether the body came in too many pieces: what followed them was not handed over. */
export const isCut = (incoming: IncomingMessage): boolean => cut.has(incoming)

type Hook = (this: unknown, ...given: never[]) => unknown
interface Placed {
  readonly place: string
  readonly hook: Hook
}
const hooks = new WeakMap<Socket, { readonly body: Placed; readonly lines: Placed | null }>()

/**
 * Counts the pieces of a body whose length is not announced, and the lines that may follow it. For each request of a
 * connection, before its body comes.
 */
export function countPieces(incoming: IncomingMessage): void {
  const { socket } = incoming
  const isChunked = incoming.headers['transfer-encoding'] !== undefined
  const parser = parserOf(socket)
  if (parser === null) return
  const known = hooks.get(socket)
  if (known === undefined && !isChunked) return
  const found = known ?? hooksOf(parser)
  if (found === null) return
  const { body, lines } = found
  if (known === undefined) {
    hooks.set(socket, found)
    // The parser is used again for another connection.
    socket.once('close', () => restore(parser, found))
  }
  restore(parser, found)
  if (!isChunked) return
  parser[body.place] = counted(incoming, parser, body)
  if (lines !== null) parser[lines.place] = fewLines(socket, parser, lines)
}

function restore(parser: Parser, { body, lines }: { readonly body: Placed; readonly lines: Placed | null }): void {
  parser[body.place] = body.hook
  if (lines !== null) parser[lines.place] = lines.hook
}

function hooksOf(parser: Parser): { readonly body: Placed; readonly lines: Placed | null } | null {
  const named = (name: string): Placed | null => {
    for (const [place, hook] of Object.entries(parser)) {
      if (typeof hook === 'function' && hook.name === name) return { place, hook: hook as Hook }
    }
    return null
  }
  const body = named('parserOnBody')
  return body === null ? null : { body, lines: named('parserOnHeaders') }
}

/** The parser hands over header lines by 32, those after a body like those of the next request. */
const MOST_HANDED_OVER = 8

function fewLines(socket: Socket, parser: Parser, { place, hook }: Placed): Hook {
  let times = 0
  return function (...given) {
    if (++times <= MOST_HANDED_OVER) return hook.apply(this, given)
    parser[place] = undefined
    stopParsing(socket)
    socket.destroy()
    return undefined
  }
}

function counted(incoming: IncomingMessage, parser: Parser, { place, hook }: Placed): Hook {
  let pieces = 0
  let bytes = 0
  return function (...given) {
    const [piece] = given as unknown as [Buffer]
    bytes += piece.length
    if (++pieces <= MOST_PIECES + bytes / LEAST_PIECE_BYTES) return hook.apply(this, given)
    cut.add(incoming)
    parser[place] = undefined
    return undefined
  }
}
