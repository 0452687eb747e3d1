import { randomUUID } from 'node:crypto'
import type { NextRequest, ReceiptsReply } from '@countersign/protocol'
import { startAge } from '../../base/start-age.js'
import type { PreflightRequest, PreparedTurn } from '../authority.js'

/** The next turn, prepared by the server together with the receipts of the one before: it needs no preflight. */
export interface PreparedAhead {
  /** The turn whose receipts come next: the request after them is expected to be like it. */
  expect(request: PreflightRequest): void
  /** What receipts that are sent now ask for beside; null: nothing. */
  ask(): AskedAhead | null
  keep(asked: AskedAhead, reply: ReceiptsReply): void
  /** The prepared turn, for the first request after the receipts, if that is the expected one; else null. */
  take(request: PreflightRequest): PreparedTurn | null
  /** A control changes what the session may do. */
  drop(): void
  /** Whether the turn was prepared with receipts. */
  prepared(turn: PreparedTurn): boolean
}

export interface AskedAhead {
  readonly next: NextRequest
  readonly likeness: string
  readonly ageMs: () => number
}

interface Ready extends AskedAhead {
  readonly prepared: Pick<PreparedTurn, 'allowed' | 'removed'>
}

/** A kill by someone else is not heard of before the proposal: so long a turn may still ask the model. */
const FRESH_MS = 1_000

/** `isCertain` says whether this process has the session alone, and knows all that it needs of it. */
export function createPreparedAhead(isCertain: () => boolean): PreparedAhead {
  let expected: PreflightRequest | null = null
  let ready: Ready | null = null
  let takenId: string | null = null
  /** What the newest receipts asked for; null once a control came. */
  let latest: AskedAhead | null = null

  return {
    expect(request) {
      if (request.tools.length > 0) expected = request
    },
    ask() {
      ready = null
      latest = null
      if (expected === null || !isCertain()) return null
      const { tools, provider, model } = expected
      const next = {
        prepared_request_id: `prq_${randomUUID()}`,
        tools: tools.map(({ name, kind }) => ({ name, kind })),
        provider,
        model: model.slice(0, 256),
      }
      latest = { next, likeness: likenessOf(expected), ageMs: startAge() }
      return latest
    },
    keep(asked, { next }) {
      if (next === null || latest !== asked) return
      ready = { ...asked, prepared: next }
    },
    take(request) {
      const taken = ready
      ready = null
      if (taken === null || !isCertain() || taken.ageMs() > FRESH_MS) return null
      if (likenessOf(request) !== taken.likeness) return null
      takenId = taken.next.prepared_request_id
      const { allowed, removed } = taken.prepared
      return { outcome: 'prepared', by: 'server', preparedRequestId: takenId, request, allowed, removed }
    },
    drop() {
      ready = null
      latest = null
    },
    prepared: ({ preparedRequestId }) => preparedRequestId === takenId,
  }
}

/** Requests that are narrowed alike. */
const likenessOf = ({ tools, provider, model }: PreflightRequest): string =>
  JSON.stringify([provider, model, tools.map(({ name, kind }) => [name, kind])])
