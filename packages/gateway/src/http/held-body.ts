import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { GatewayProblem } from '../base/problems.js'
import type { JsonMeasure } from './measure-json.js'
import { createRoom, type Held, type Room } from './room.js'

/** What the body of one request holds until the request is answered. */
export interface HeldBody {
  /** Before it is read. Waits for memory, of which each client has a share. */
  beforeReading(bytes: number): Promise<void>
  /** It has so many bytes. */
  wasRead(bytes: number): void
  /** Before it is parsed. A large one waits for its turn: one is worked on at a time, of each client in turn. */
  beforeParsing(bytes: number, measure: JsonMeasure): Promise<void>
  /** It is on its way to the upstream: the next large one may begin. */
  passedOn(): void
  /** The request is answered. */
  release(): void
}

export interface Bodies {
  of(client: string, signal: AbortSignal): HeldBody
}

const LARGE_BYTES = 1024 * 1024
/** A body with more values takes long, however few bytes it has. */
const MANY_VALUES = 20_000
/** The text and its strings. */
const BYTES_PER_BYTE = 2

/** After that long a turn has ended: the body waits for somebody, and not for the thread. */
const LONGEST_TURN_MS = 1_000
/** How long the thread is left to small requests between two turns: what one of them asks of others comes meanwhile. */
const REST_MS = 20

const MOST_WAITING = { ofClient: 64, ofAll: 1_024 }

export interface BodiesOptions {
  readonly heapBytes: number
  /** How long a body waits for room, or for its turn. */
  readonly waitMs: number
}

/** All bodies in flight take less than a third of the heap. Small ones do not wait behind large ones. */
export function createBodies({ heapBytes, waitMs }: BodiesOptions): Bodies {
  const waiting = { waitMs, mostWaiting: MOST_WAITING }
  const memory = (part: number) => createRoom({ bound: heapBytes * part, share: (heapBytes * part) / 2, ...waiting })
  const small = memory(1 / 8)
  const large = memory(1 / 8)
  const values = memory(1 / 16)
  const turns = createRoom({ bound: 1, share: 1, ...waiting })

  return {
    of(client, signal) {
      const held: Held[] = []
      let body: Held | null = null
      let endTurn = () => {}
      const enter = async (room: Room, amount: number): Promise<Held> => {
        const taken = await room.enter(client, amount, signal)
        if (taken !== null && !signal.aborted) return taken
        taken?.leave()
        throw busy()
      }
      return {
        async beforeReading(bytes) {
          body = await enter(bytes > LARGE_BYTES ? large : small, bytes * BYTES_PER_BYTE)
          held.push(body)
        },
        wasRead: (bytes) => body?.lower(bytes * BYTES_PER_BYTE),
        async beforeParsing(bytes, measure) {
          const isDense = measure.values > MANY_VALUES
          // In this order for all: whoever has the turn waits for no room.
          if (isDense) held.push(await enter(values, measure.bytes - bytes * BYTES_PER_BYTE))
          if (isDense || bytes > LARGE_BYTES) endTurn = turnOf(await enter(turns, 1))
        },
        passedOn: () => endTurn(),
        release() {
          endTurn()
          for (const one of held) one.leave()
        },
      }
    },
  }
}

/** Ends a turn, once. */
function turnOf(turn: Held): () => void {
  const end = () => {
    clearTimeout(timer)
    setTimeout(turn.leave, REST_MS).unref()
  }
  const timer = setTimeout(end, LONGEST_TURN_MS).unref()
  return end
}

/** Whose body it is: whoever sends this credential, or one that sends none from this address. */
export function clientOf(headers: Headers, { socket }: IncomingMessage): string {
  const credential = headers.get('authorization') ?? headers.get('x-api-key') ?? headers.get('api-key')
  if (credential === null) return `address ${socket.remoteAddress}`
  return createHash('sha256').update(credential).digest('base64url')
}

const busy = () =>
  new GatewayProblem(
    'busy',
    'the gateway has as many large bodies as it can hold, or too many of this client: send fewer at a time, and try ' +
      'again soon',
  )
