import type { ServerResponse } from 'node:http'
import type { Memories } from '../base/memory/memories.js'
import type { Metrics } from '../base/metrics.js'

/** Sends the body of a reply and the end. Never waits for the client. */
export type SendReply = (outgoing: ServerResponse, body: string | Buffer, to: Reader) => void

export interface Reader {
  /** Whose share a reply counts against while it is not read: a tenant, or an address. */
  readonly owner: string
  /** Of the body. */
  readonly bytes: number
}

/** A longer body is sent piece by piece: what a client takes is seen, and little of it waits in the socket. */
const PIECE_BYTES = 64 * 1024
const LOOK_MS = 1_000

interface Unread {
  readonly key: string
  readonly outgoing: ServerResponse
  /** How often was looked since the client last took a piece. Not the time: while this process is busy, nobody takes any. */
  looks: number
}

/**
 * A client that takes nothing of its reply for so many seconds loses its connection. So does, when unread replies fill their
 * memory, the one that took nothing for longest, first of whoever holds more than their share.
 */
export function createReplySender(
  { memories, metrics }: { readonly memories: Memories; readonly metrics: Metrics },
  seconds: number,
): SendReply {
  const drop = ({ outgoing }: Unread) => {
    metrics.count('countersign_connections_dropped_total', { reason: 'reply_not_read' })
    // Not only closed: the kernel would go on offering what it holds, for minutes.
    outgoing.req.socket.resetAndDestroy()
    outgoing.destroy()
  }
  const unread = memories.cache<Unread>('replies', { onEvicted: drop })
  let replies = 0
  let timer: NodeJS.Timeout | undefined

  const look = () => {
    for (const reply of [...unread.values()]) {
      reply.looks += 1
      if (reply.looks * LOOK_MS <= seconds * 1_000) continue
      unread.forget(reply.key)
      drop(reply)
    }
    if (unread.bytes() > 0) return
    clearInterval(timer)
    timer = undefined
  }

  const watch = (outgoing: ServerResponse, owner: string, bytes: number): Unread => {
    const reply = { key: String(replies++), outgoing, looks: 0 }
    outgoing.once('close', () => unread.forget(reply.key))
    unread.remember(reply.key, reply, { owner, bytes })
    timer ??= setInterval(look, LOOK_MS).unref()
    return reply
  }

  const sendPieces = (reply: Unread, body: Buffer) => {
    const { key, outgoing } = reply
    let from = 0
    const go = () => {
      reply.looks = 0
      unread.find(key)
      while (from < body.length) {
        const piece = body.subarray(from, from + PIECE_BYTES)
        from += PIECE_BYTES
        if (outgoing.write(piece)) continue
        outgoing.once('drain', go)
        return
      }
      outgoing.end()
    }
    go()
  }

  return (outgoing, body, { owner, bytes }) => {
    const { socket } = outgoing
    if (bytes > PIECE_BYTES && socket && !socket.destroyed) {
      // Files of the dashboard are the same bytes for all.
      const own = typeof body === 'string' ? bytes : 0
      sendPieces(watch(outgoing, owner, own), typeof body === 'string' ? Buffer.from(body) : body)
      return
    }
    // In one write: `end` alone would send the end apart from the rest, by the slower call for several pieces.
    socket?.cork()
    // With a byte for each character all are ASCII, and need no encoding.
    outgoing.write(body, bytes === body.length ? 'latin1' : 'utf8')
    socket?.uncork()
    outgoing.end()
    if (outgoing.writableLength > 0 && !outgoing.destroyed) watch(outgoing, owner, outgoing.writableLength)
  }
}
