import { messageOf, type Report } from '../../base/diagnostics.js'
import { singleFlight } from '../../base/single-flight.js'
import type { LocalSession } from '../local/local-session.js'
import { type CallLimits, ServiceRefusal } from '../transport.js'
import type { ClientState } from './client-state.js'
import type { ServerSession } from './server-session.js'

/** Labels, filter, kill and bypass reports on their way to the server. They take effect here at once, and there for good. */
export interface Controls {
  addLabel(label: string): void
  setFilter(tools: readonly string[] | null): void
  kill(): void
  reportBypass(method: string): void
  /** Labels or a filter wait to be sent. */
  hasUnsent(): boolean
  /** Sends what waits. Throws what the transport throws. */
  flush(): Promise<void>
  /** Between preflight and proposal nothing is sent, since it would make the prepared request stale. */
  hold(): void
  release(): void
  /** Repeats on a new mirror what has not reached the server yet. */
  replayOn(mirror: LocalSession): void
  /** Resolves when every stop has been tried; one that failed is tried on. */
  stopsTried(): Promise<void>
}

export interface ControlsOptions {
  readonly server: ServerSession
  /** Resolves to true once the session exists on the server, to false when it could not be opened. */
  readonly opened: () => Promise<boolean>
  /** What has become of opening the session. */
  readonly outcome: () => Promise<ClientState['session']>
  readonly limits: () => CallLimits | undefined
  readonly report: Report
  readonly sessionId: string
}

/** Answers about the key or the quota, not about the stop. */
const MUST_BE_SENT_AGAIN: ReadonlySet<number> = new Set([401, 403, 429])
const FIRST_RETRY_MS = 250
const LONGEST_RETRY_MS = 30_000

export function createControls({ server, opened, outcome, limits, report, sessionId }: ControlsOptions): Controls {
  let labels: string[] = []
  let filter: { tools: readonly string[] | null } | null = null
  let held = 0
  const stops = new Set<Promise<boolean>>()
  const flushing = singleFlight(sendAll)

  async function sendAll(): Promise<void> {
    while (labels.length > 0) {
      const [label = ''] = labels
      await dropRefused(server.addLabel(label, limits()))
      labels = labels.filter((other) => other !== label)
    }
    while (filter !== null) {
      const sending: { tools: readonly string[] | null } = filter
      await server.setFilter(sending.tools, limits())
      if (filter === sending) filter = null
    }
  }

  /** A label beyond the limit can never be taken; it must not block every later turn. */
  async function dropRefused(sent: Promise<void>): Promise<void> {
    try {
      await sent
    } catch (error) {
      if (!(error instanceof ServiceRefusal) || error.code !== 'LABEL_LIMIT') throw error
      report({ type: 'replay_control_refused', session_id: sessionId, detail: error.message })
    }
  }

  const hasUnsent = (): boolean => labels.length > 0 || filter !== null

  async function flush(): Promise<void> {
    if (!hasUnsent()) return
    await flushing.run()
    await flush()
  }

  /** In the background: the next turn sends it in any case, and throws when that fails. */
  function flushSoon(): void {
    if (held > 0) return
    opened()
      .then((isOpen) => (isOpen && held === 0 ? flush() : undefined))
      .catch(() => {})
  }

  /** True when the server has answered, whatever the answer. */
  async function tryStop(what: string, send: () => Promise<void>): Promise<boolean> {
    try {
      const session = await outcome()
      if (session === 'open' || session === 'unanswered') await send()
      else if (session === 'refused') {
        const detail = `${what} stays in this process, which never held the session; countersign session kill stops it for its holder`
        report({ type: 'replay_control_refused', session_id: sessionId, detail })
      }
      return true
    } catch (error) {
      if (error instanceof ServiceRefusal && !MUST_BE_SENT_AGAIN.has(error.status)) return true
      const detail = `${what} has not reached the server: ${messageOf(error)}`
      report({ type: 'replay_degraded', session_id: sessionId, detail })
      return false
    }
  }

  /** A stop is tried until the server has answered it. */
  async function insist(what: string, send: () => Promise<void>): Promise<void> {
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
    addLabel(label) {
      if (!labels.includes(label)) labels.push(label)
      flushSoon()
    },
    setFilter(tools) {
      filter = { tools }
      flushSoon()
    },
    kill: () => void insist('the kill', server.kill),
    reportBypass: (method) => void insist('the bypass report', () => server.reportBypass(method)),
    hasUnsent,
    flush,
    hold() {
      held++
    },
    release() {
      held = Math.max(0, held - 1)
      if (held === 0) flushSoon()
    },
    replayOn(mirror) {
      for (const label of labels) mirror.addLabel(label)
      if (filter !== null) mirror.setFilter(filter.tools)
    },
    async stopsTried() {
      await Promise.all(stops)
    },
  }
}
