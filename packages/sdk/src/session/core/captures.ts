import { randomUUID } from 'node:crypto'
import type { ReadResponse } from '@countersign/engine'
import { type CaptureItem, type Decision, type Flows, LIMITS } from '@countersign/protocol'
import type { DecidedBy } from '../../authority/authority.js'
import { createCircuitBreaker } from '../../base/circuit-breaker.js'
import { messageOf, type Report } from '../../base/diagnostics.js'
import type { JsonObject } from '../../base/json-object.js'
import { storableJson } from '../../base/written-json.js'
import type { OpenRequest } from '../../clients/conversations.js'
import { type CaptureBuffer, createCaptureBuffer } from '../../observe/capture-buffer.js'
import { captureItem } from '../../observe/capture-item.js'
import { captureSender } from '../../observe/send-captures.js'
import type { ReplaySettings } from '../../options/replay-settings.js'
import type { Provider, RequestView } from '../../providers/provider.js'
import { DEFAULT_AGENT } from './attachment.js'
import { isBlocked } from './gate.js'
import type { Stance } from './session-rules.js'

/** Captures of a session that is not on a server: sent to the capture endpoint, and given to the program's store. */
export interface Captures {
  take(turn: AnsweredTurn): void
  flush(): Promise<void>
  close(): Promise<void>
  failures(): number
  /** False where they are not taken. */
  isActive(): boolean
}

/** An answer of the model, as it is captured. */
export interface AnsweredTurn {
  readonly provider: Provider
  readonly view: RequestView
  /** As it was sent. */
  readonly request: JsonObject
  readonly latencyMs: number
  readonly response: ReadResponse
  readonly opened: OpenRequest
  readonly flows: Flows
  readonly stance: Stance
  readonly decisions: readonly Decision[]
  readonly by: DecidedBy | null
}

export function createCaptures(settings: ReplaySettings, report: Report): Captures {
  const { apiKey, store, captureDisabled } = settings
  const buffer = apiKey === null || captureDisabled ? null : bufferFor(settings, apiKey, report)
  const append = captureDisabled ? undefined : store?.appendCapture?.bind(store)
  let stored: Promise<void> = Promise.resolve()
  const reportFailure = (error: unknown): void => report({ type: 'capture_error', detail: messageOf(error) })

  return {
    take(turn) {
      // What the server decided it has captured itself.
      if (turn.by === 'server' || (buffer === null && append === undefined)) return
      try {
        const item = itemOf(settings, turn)
        buffer?.add(() => storableJson(JSON.stringify(item)))
        if (append !== undefined) stored = stored.then(() => append(item)).catch(reportFailure)
      } catch (error) {
        reportFailure(error)
      }
    },
    async flush() {
      await Promise.all([stored, buffer?.flush()])
    },
    async close() {
      await Promise.all([stored, buffer?.close()])
    },
    failures: () => buffer?.counts().failures ?? 0,
    isActive: () => buffer !== null || append !== undefined,
  }
}

function bufferFor(settings: ReplaySettings, apiKey: string, report: Report): CaptureBuffer {
  const { runtimeUrl, exchange } = settings
  const endpoint = runtimeUrl.replace(/\/+$/, '')
  return createCaptureBuffer({
    send: captureSender({ endpoint, apiKey, timeoutMs: LIMITS.observeTimeoutMsDefault, exchange }),
    maxBuffer: LIMITS.observeBufferDefault,
    flushMs: LIMITS.observeFlushMsDefault,
    breaker: createCircuitBreaker(),
    report,
  })
}

const VALIDATED_AS = { enforce: 'enforce', advise: 'advisory', shadow: 'shadow' } as const

function itemOf(settings: ReplaySettings, turn: AnsweredTurn): CaptureItem {
  const { request, latencyMs, view, response, opened, flows, provider } = turn
  const validation = validationOf(turn.stance, turn)
  return captureItem({
    captureId: randomUUID(),
    agent: settings.agent ?? DEFAULT_AGENT,
    captureLevel: settings.captureLevel,
    conversationId: opened.conversationId,
    timestamp: new Date(Date.now() - latencyMs),
    provider: provider.name,
    request,
    view,
    response,
    latencyMs,
    flows,
    sdkSessionId: settings.sessionId,
    ...(validation !== undefined && { validation }),
  })
}

function validationOf(stance: Stance, { decisions }: AnsweredTurn): CaptureItem['validation'] {
  if (stance === 'log') return undefined
  return {
    mode: VALIDATED_AS[stance],
    pass: !decisions.some(isBlocked),
    calls: decisions.map(({ index, decision, reasons }) => ({
      index,
      decision,
      reasons: reasons.map(({ reason }) => reason),
    })),
  }
}
