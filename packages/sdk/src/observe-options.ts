import { type CaptureLevel, LIMITS } from '@countersign/protocol'
import { createReport, type DiagnosticsCallback, type Report } from './diagnostics.js'
import { DEFAULT_BASE_URL, readEnvironment, type SdkEnvironment } from './options.js'
import { type Post, postByFetch, postByNode } from './post.js'

export interface ObserveOptions {
  /** Falls back to COUNTERSIGN_API_KEY. Without a key nothing is observed. */
  apiKey?: string
  agent?: string
  captureLevel?: CaptureLevel
  /** The address of the service; falls back to COUNTERSIGN_API_URL. */
  endpoint?: string
  /** Captures kept until they are sent; at most 1000. */
  maxBuffer?: number
  flushMs?: number
  /** How long sending may take; at most 10000. */
  timeoutMs?: number
  disabled?: boolean
  diagnostics?: DiagnosticsCallback
  /** Sends the captures instead of Node's own client. */
  fetch?: typeof fetch
}

export interface ObserveSettings {
  /** Null when there is none: nothing is observed. */
  apiKey: string | null
  agent: string
  captureLevel: CaptureLevel
  endpoint: string
  maxBuffer: number
  flushMs: number
  timeoutMs: number
  disabled: boolean
  report: Report
  post: Post
  appInstance: string | null
}

/** What observe works with. A value it cannot use becomes the default, one above its maximum the maximum. */
export function observeSettings(
  options: ObserveOptions,
  environment: SdkEnvironment = readEnvironment(),
): ObserveSettings {
  const report = createReport(options.diagnostics)
  const number = (name: 'maxBuffer' | 'flushMs' | 'timeoutMs', fallback: number, maximum: number): number => {
    const given = options[name]
    if (given === undefined || !Number.isFinite(given) || given < 1) return fallback
    if (given <= maximum) return Math.floor(given)
    report({ type: 'option_clamped', option: name, given, used: maximum })
    return maximum
  }
  return {
    apiKey: options.apiKey?.trim() || environment.apiKey,
    agent: options.agent?.trim() || 'default',
    captureLevel: CAPTURE_LEVELS.find((level) => level === options.captureLevel) ?? 'redacted',
    endpoint: baseUrl(options.endpoint ?? environment.apiUrl),
    maxBuffer: number('maxBuffer', LIMITS.observeBufferDefault, LIMITS.observeBufferMax),
    flushMs: number('flushMs', LIMITS.observeFlushMsDefault, MAX_TIMER_MS),
    timeoutMs: number('timeoutMs', LIMITS.observeTimeoutMsDefault, LIMITS.observeTimeoutMsMax),
    disabled: options.disabled === true || environment.captureDisabled,
    report,
    post: options.fetch === undefined ? postByNode : postByFetch(options.fetch),
    appInstance: environment.appInstance,
  }
}

const CAPTURE_LEVELS: readonly CaptureLevel[] = ['metadata', 'redacted', 'full']

/** Node turns longer delays into one millisecond. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** An address without its closing slashes, so that paths can be put behind it. */
export function baseUrl(given: string | null | undefined): string {
  return (given?.trim() || DEFAULT_BASE_URL).replace(/\/+$/, '')
}
