import { ApiError } from '../base/api-error.js'
import type { Memories } from '../base/memory/memories.js'

/** What bodies hold until their request is answered. Small ones are not counted: the limit of connections bounds them. */
export interface HeldBodies {
  /** Before a body of at most so many bytes is read. Waits where the owner's share, or all there is, is taken. */
  beforeReading(request: object, owner: string, bytes: number): Promise<void>
  release(request: object): void
}

export const SMALL_BODY_BYTES = 16 * 1024
const WAIT_MS = 10_000

export function createHeldBodies(memories: Memories): HeldBodies {
  const budget = memories.budget('bodies')
  const held = new WeakMap<object, { readonly owner: string; readonly bytes: number }>()
  return {
    beforeReading: async (request, owner, bytes) => {
      if (!(await budget.takeInTurn(owner, bytes, WAIT_MS))) throw busy()
      held.set(request, { owner, bytes })
    },
    release: (request) => {
      const what = held.get(request)
      if (what === undefined) return
      held.delete(request)
      budget.release(what.owner, what.bytes)
    },
  }
}

const busy = () =>
  new ApiError(
    'BUSY',
    { detail: 'too many large bodies are being read at once; send fewer at a time' },
    { 'retry-after': '1', connection: 'close' },
  )
