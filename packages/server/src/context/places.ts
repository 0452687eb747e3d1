import { ApiError } from '../base/api-error.js'
import { createAdmissionLimit } from '../base/work/admission-limit.js'
import type { Context, RequestScope } from './context.js'

/** Bounds how many requests hold something large in memory, which is counted nowhere else while they work on it. */
export interface Places {
  /**
   * Waits for a place, which the request keeps until its reply is written. Whoever waits has read nothing yet, and has no
   * connection: others would wait for that. Throws 503 after a while.
   */
  take(ctx: Context): Promise<void>
  isTaken(request: RequestScope): boolean
}

interface Options {
  readonly slots: number
  readonly perTenant: number
  /** Of what too many are under way. */
  readonly what: string
}

const WAIT_MS = 10_000

/** By request, what gives its places back. */
const held = new WeakMap<RequestScope, Promise<() => void>[]>()

function createPlaces({ slots, perTenant, what }: Options): Places {
  const detail = `too many ${what} of this tenant are under way; ask for fewer at once`
  const limit = createAdmissionLimit({
    slots,
    perTenant,
    waitMs: WAIT_MS,
    timedOut: () => new ApiError('BUSY', { detail }),
  })
  const waiting = new WeakMap<RequestScope, Promise<() => void>>()
  const begin = ({ request, tenant }: Context): Promise<() => void> => {
    const place = new Promise<() => void>((enter, refuse) => {
      limit.run(tenant.tenantId, () => new Promise<void>((leave) => enter(leave))).catch(refuse)
    })
    waiting.set(request, place)
    held.set(request, [...(held.get(request) ?? []), place])
    return place
  }
  return {
    take: async (ctx) => {
      await (waiting.get(ctx.request) ?? begin(ctx))
    },
    isTaken: (request) => waiting.has(request),
  }
}

/**
 * A reply of megabytes, while it is read, looked through and written: it may take ten times as much memory as its text. Taken
 * before a place for a state, by whoever needs both.
 */
export const largeReplies = createPlaces({ slots: 6, perTenant: 1, what: 'large replies' })

/** A state of megabytes, which is parsed whole, and written whole when it changes. */
export const largeStates = createPlaces({ slots: 4, perTenant: 1, what: 'requests about sessions with a large state' })

/** The same for what stops a session: a kill waits for other kills alone. */
export const largeStops = createPlaces({ slots: 4, perTenant: 1, what: 'stops of sessions with a large state' })

/** What was learned of an agent, up to 32 MB of it, while a session is taken out of it. */
export const erasures = createPlaces({ slots: 4, perTenant: 1, what: 'erasures' })

/** A reply of so many characters costs others little; after a longer one the place rests, so long for each million more. */
const REST = { after: 1_000_000, msPerMillion: 50 } as const

/** Once the reply is written, of so many characters, or nothing comes of it. */
export function leavePlaces(request: RequestScope, characters = 0): void {
  const restMs = ((characters - REST.after) / 1_000_000) * REST.msPerMillion
  for (const place of held.get(request) ?? []) {
    place.then(
      (leave) => (restMs > 0 ? setTimeout(leave, restMs) : leave()),
      () => {},
    )
  }
}
