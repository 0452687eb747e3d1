import { readResponse } from '@countersign/engine'
import { createCircuitBreaker } from '../base/circuit-breaker.js'
import { createIds } from '../base/create-ids.js'
import { messageOf } from '../base/diagnostics.js'
import { type HealthSnapshot, isClusterMember } from '../base/health-snapshot.js'
import { detectClient, whyUnknown } from '../clients/clients.js'
import { createConversations, responseIdOf } from '../clients/conversations.js'
import { type SeenCall, watchClient } from '../clients/watch-client.js'
import { unwrapClient, wrapClient } from '../clients/wrapped-clients.js'
import type { ObserveOptions } from '../options/observe-options.js'
import { type ObserveSettings, readObserveOptions } from '../options/observe-settings.js'
import { createCaptureBuffer } from './capture-buffer.js'
import { createCaptureWriter, type Observation } from './capture-item.js'
import { captureSender } from './send-captures.js'

/** What `observe` returns. */
export interface ObserveHandle {
  /** Stops observing: gives the client its own methods back and sends what was captured. */
  restore(): Promise<void>
  /** Sends what was captured so far. */
  flush(): Promise<void>
  /** The current health. */
  getHealth(): HealthSnapshot
}

/**
 * Captures the calls that a client makes to a model. The program notices no difference: it gets the same responses, and
 * captures are made and sent in the background. It never throws; for a client that cannot be observed, the handle does
 * nothing.
 */
export function observe(client: object, options: ObserveOptions = {}): ObserveHandle {
  const settings = readObserveOptions(options)
  const { apiKey, endpoint } = settings
  if (settings.disabled) return idleHandle(settings)
  if (apiKey === null) {
    settings.report({ type: 'capture_error', detail: NO_KEY })
    return idleHandle(settings)
  }
  if (endpoint === null) return idleHandle(settings)
  const kind = detectClient(client)
  if (kind === null) {
    settings.report({ type: 'unsupported_client', detail: whyUnknown(client) })
    return idleHandle(settings)
  }
  const holder = wrapClient(client, 'observe')
  if (holder !== null) {
    settings.report({
      type: 'double_wrap',
      detail: `the client is already wrapped by ${holder === 'observe' ? 'observe' : 'replay'}`,
    })
    return idleHandle(settings)
  }
  const capture = startCapturing(settings, { apiKey, endpoint })
  const stopWatching = watchClient(client, kind, capture.take)
  return {
    restore: async () => {
      stopWatching()
      unwrapClient(client)
      await capture.close()
    },
    flush: capture.flush,
    getHealth: () => health(settings, capture.counts()),
  }
}

const NO_KEY = 'observe does nothing without an API key: pass apiKey or set COUNTERSIGN_API_KEY'

/** Captures are made this long after their calls, or when so many wait. */
const DELAY_MS = 50
const MOST_CALLS_AT_ONCE = 100
/** The program is not held up for longer than this; what is left is made a little later. */
const LONGEST_PAUSE_MS = 5

interface Capturing {
  take(call: SeenCall): void
  flush(): Promise<void>
  close(): Promise<void>
  counts(): Counts
}

interface Counts {
  /** Calls of a model that were captured. */
  captured: number
  failures: number
  /** What was sent last did not arrive, or capturing is stopped for a while. */
  troubled: boolean
}

function startCapturing(settings: ObserveSettings, to: { apiKey: string; endpoint: string }): Capturing {
  const { agent, captureLevel, report } = settings
  const conversations = createConversations(to.apiKey)
  const newCaptureId = createIds()
  const buffer = createCaptureBuffer({
    send: captureSender({ ...to, timeoutMs: settings.timeoutMs, exchange: settings.exchange }),
    maxBuffer: settings.maxBuffer,
    flushMs: settings.flushMs,
    breaker: createCircuitBreaker(),
    report,
    pull: () => work(Number.POSITIVE_INFINITY),
  })
  // So few that they do not fill the buffer by themselves.
  const callsAtOnce = Math.min(MOST_CALLS_AT_ONCE, Math.ceil(settings.maxBuffer / 2))
  let waiting: SeenCall[] = []
  let timer: NodeJS.Timeout | null = null
  let captured = 0

  const read = (call: SeenCall, clockAheadMs: number): Observation => {
    const { provider, request } = call
    const view = provider.readRequest(request)
    const response = readResponse(call.response)
    const { previousResponseId } = view
    const open = conversations.open({ messages: provider.readMessages(request), previousResponseId })
    const flows = open.answered(response, responseIdOf(provider, call.response))
    return {
      captureId: newCaptureId(),
      agent,
      captureLevel,
      conversationId: open.conversationId,
      timestamp: new Date(call.startedMs + clockAheadMs),
      provider: provider.name,
      request,
      view,
      response,
      latencyMs: call.latencyMs,
      flows,
    }
  }

  const work = (mostMs: number): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const calls = waiting
    waiting = []
    const startedMs = performance.now()
    const clockAheadMs = Date.now() - startedMs
    const write = createCaptureWriter()
    for (const [at, call] of calls.entries()) {
      if (performance.now() - startedMs > mostMs) {
        waiting = [...calls.slice(at), ...waiting]
        workSoon()
        return
      }
      try {
        const observation = read(call, clockAheadMs)
        captured += 1
        buffer.add(() => write(observation))
      } catch (error) {
        report({ type: 'capture_error', detail: `a call could not be captured: ${messageOf(error)}` })
      }
    }
  }

  const workSoon = (): void => {
    timer ??= setTimeout(() => work(LONGEST_PAUSE_MS), DELAY_MS).unref()
  }

  return {
    // The program goes on first. Captures are made a little later and together, which costs a fraction of one by one.
    take: (call) => {
      waiting.push(call)
      if (waiting.length >= callsAtOnce) work(LONGEST_PAUSE_MS)
      else workSoon()
    },
    flush: buffer.flush,
    close: buffer.close,
    counts: () => {
      const { failures, failing, stopped } = buffer.counts()
      return { captured: captured + waiting.length, failures, troubled: failing || stopped }
    },
  }
}

function health(settings: ObserveSettings, counts: Counts | null): HealthSnapshot {
  return Object.freeze({
    status: counts === null ? 'inactive' : counts.troubled ? 'degraded' : 'healthy',
    authorityState: 'inactive',
    protectionLevel: 'monitor',
    durability: 'inactive',
    tier: 'compat',
    compatEnforcement: 'advisory',
    cluster_detected: isClusterMember(settings.appInstance),
    bypass_detected: false,
    totalSteps: counts?.captured ?? 0,
    totalBlocks: 0,
    totalErrors: counts?.failures ?? 0,
    shadowEvaluations: 0,
    killed: false,
  })
}

function idleHandle(settings: ObserveSettings): ObserveHandle {
  return { restore: async () => {}, flush: async () => {}, getHealth: () => health(settings, null) }
}
