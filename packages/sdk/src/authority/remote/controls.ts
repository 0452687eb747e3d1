import { messageOf, type Report } from '../../base/diagnostics.js'
import { singleFlight } from '../../base/single-flight.js'
import type { Restriction } from '../authority.js'
import type { LocalSession } from '../local/local-session.js'
import { ServiceRefusal } from '../transport.js'
import type { Exchange } from './session-api.js'

/** Labels, filter and stops on their way to the server. They take effect here at once, and there for good. */
export interface Controls {
  add(restriction: Restriction): void
  /** Labels or a filter wait to be sent. */
  hasUnsent(): boolean
  hasUnsentLabel(): boolean
  /** Sends what waits. Throws what the transport throws. */
  flush(exchange: Exchange): Promise<void>
  /** Repeats on a new mirror what has not reached the server yet. */
  replayOn(mirror: LocalSession): void
  /** Tries a stop until the server has answered it. `send` says whether the session is this client's to stop. */
  insist(what: string, send: () => Promise<boolean>): void
  /** Resolves when every stop has been tried; one that failed is tried on. */
  stopsTried(): Promise<void>
}

/** Answers about the key or the quota, not about the stop. */
const MUST_BE_SENT_AGAIN: ReadonlySet<number> = new Set([401, 403, 429])
const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 30_000

export function createControls(report: Report, session_id: string): Controls {
  let labels: string[] = []
  let filter: Extract<Restriction, { filter: unknown }> | null = null
  let flushing: ReturnType<typeof singleFlight<void>> | null = null
  const stops = new Set<Promise<boolean>>()

  async function sendAll(exchange: Exchange): Promise<void> {
    while (labels.length > 0) {
      const [label = ''] = labels
      await dropRefused(exchange((api, limits) => api.addLabel(label, limits)))
      labels = labels.filter((other) => other !== label)
    }
    while (filter !== null) {
      const sending: NonNullable<typeof filter> = filter
      await exchange((api, limits) => api.setFilter(sending.filter, limits))
      if (filter === sending) filter = null
    }
  }

  /** A label beyond the limit can never be taken; it must not block every later turn. */
  async function dropRefused(sent: Promise<void>): Promise<void> {
    try {
      await sent
    } catch (error) {
      if (!(error instanceof ServiceRefusal) || error.code !== 'LABEL_LIMIT') throw error
      report({ type: 'replay_control_refused', session_id, detail: error.message })
    }
  }

  const hasUnsentLabel = (): boolean => labels.length > 0
  const hasUnsent = (): boolean => hasUnsentLabel() || filter !== null

  async function flush(exchange: Exchange): Promise<void> {
    flushing ??= singleFlight(() => sendAll(exchange))
    while (hasUnsent()) await flushing.run()
  }

  /** True when the server has answered, whatever the answer. */
  async function tryStop(what: string, send: () => Promise<boolean>): Promise<boolean> {
    try {
      if (await send()) return true
      const detail = `${what} stays in this process, which never held the session; countersign session kill stops it for its holder`
      report({ type: 'replay_control_refused', session_id, detail })
      return true
    } catch (error) {
      if (error instanceof ServiceRefusal && !MUST_BE_SENT_AGAIN.has(error.status)) return true
      report({ type: 'replay_degraded', session_id, detail: `${what} has not reached the server: ${messageOf(error)}` })
      return false
    }
  }

  async function tryUntilAnswered(what: string, send: () => Promise<boolean>): Promise<void> {
    const first = tryStop(what, send)
    stops.add(first)
    let isAnswered = await first
    stops.delete(first)
    for (let delayMs = FIRST_RETRY_MS; !isAnswered; delayMs = Math.min(delayMs * 2, LONGEST_RETRY_MS)) {
      await new Promise<void>((resolve) => setTimeout(resolve, delayMs).unref())
      isAnswered = await tryStop(what, send)
    }
  }

  return {
    add(restriction) {
      if ('filter' in restriction) filter = restriction
      else if (!labels.includes(restriction.label)) labels.push(restriction.label)
    },
    hasUnsent,
    hasUnsentLabel,
    flush,
    replayOn(mirror) {
      for (const label of labels) mirror.restrict({ label })
      if (filter !== null) mirror.restrict(filter)
    },
    insist: (what, send) => void tryUntilAnswered(what, send),
    async stopsTried() {
      await Promise.all(stops)
    },
  }
}
