import { ApiError } from '../base/api-error.js'
import type { Memories } from '../base/memory/memories.js'

/** What bodies hold until their request is answered. Small ones are not counted: the limit of connections bounds them. */
export interface HeldBodies {
  /** Before a body of at most so many bytes is read. Waits where the owner's share, or all there is, is taken. */
  beforeReading(request: object, owner: string, bytes: number): Promise<void>
  /** Before it is parsed: as objects, a body may take twenty times its length. */
  beforeParsing(request: object, owner: string, bytes: number): Promise<void>
  release(request: object): void
}

export const SMALL_BODY_BYTES = 16 * 1024
const WAIT_MS = 10_000

interface Held {
  owner: string
  read: number
  parsed: number
}

export function createHeldBodies(memories: Memories): HeldBodies {
  const reading = memories.budget('bodies')
  const parsing = memories.budget('parsed_bodies')
  const held = new WeakMap<object, Held>()

  const hold = (request: object, owner: string): Held => {
    const known = held.get(request) ?? { owner, read: 0, parsed: 0 }
    held.set(request, known)
    return known
  }

  return {
    beforeReading: async (request, owner, bytes) => {
      if (!(await reading.takeInTurn(owner, bytes, WAIT_MS))) throw busy()
      hold(request, owner).read = bytes
    },
    beforeParsing: async (request, owner, bytes) => {
      if (!(await parsing.takeInTurn(owner, bytes, WAIT_MS))) throw busy()
      hold(request, owner).parsed = bytes
    },
    release: (request) => {
      const what = held.get(request)
      if (what === undefined) return
      held.delete(request)
      if (what.read > 0) reading.release(what.owner, what.read)
      if (what.parsed > 0) parsing.release(what.owner, what.parsed)
    },
  }
}

const busy = () =>
  new ApiError(
    'BUSY',
    { detail: 'too many large bodies are being read at once; send fewer at a time' },
    { 'retry-after': '1', connection: 'close' },
  )
