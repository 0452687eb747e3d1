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

type BodyHook = (this: unknown, piece: Buffer) => unknown
const hooks = new WeakMap<Socket, { readonly place: string; readonly hook: BodyHook }>()

/** Counts the pieces of a body whose length is not announced. For each request of a connection, before its body comes. */
export function countPieces(incoming: IncomingMessage): void {
  const { socket } = incoming
  const isChunked = incoming.headers['transfer-encoding'] !== undefined
  const known = hooks.get(socket)
  if (known === undefined && !isChunked) return
  const parser = parserOf(socket)
  const found = known ?? (parser === null ? null : bodyHook(parser))
  if (parser === null || found === null) return
  const { place, hook } = found
  if (known === undefined) {
    hooks.set(socket, found)
    // The parser is used again for another connection.
    socket.once('close', () => {
      parser[place] = hook
    })
  }
  parser[place] = isChunked ? counted(incoming, parser, found) : hook
}

function bodyHook(parser: Parser): { place: string; hook: BodyHook } | null {
  for (const [place, hook] of Object.entries(parser)) {
    if (typeof hook === 'function' && hook.name === 'parserOnBody') return { place, hook: hook as BodyHook }
  }
  return null
}

function counted(
  incoming: IncomingMessage,
  parser: Parser,
  { place, hook }: { place: string; hook: BodyHook },
): BodyHook {
  let pieces = 0
  let bytes = 0
  return function (piece) {
    bytes += piece.length
    if (++pieces <= MOST_PIECES + bytes / LEAST_PIECE_BYTES) return hook.call(this, piece)
    cut.add(incoming)
    parser[place] = undefined
    return undefined
  }
}
