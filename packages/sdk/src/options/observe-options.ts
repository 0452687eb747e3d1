import { type CaptureLevel, LIMITS } from '@countersign/protocol'
import { createReport } from '../base/create-report.js'
import type { DiagnosticsCallback, Report } from '../base/diagnostics.js'
import { type Post, postByFetch, postByNode } from '../base/post.js'
import { unknownOption } from './option-names.js'
import { addressProblem, DEFAULT_BASE_URL, readEnvironment, type SdkEnvironment, saysYes } from './options.js'

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
  /** Null when what was given is no address: nothing is observed. */
  endpoint: string | null
  maxBuffer: number
  flushMs: number
  timeoutMs: number
  disabled: boolean
  report: Report
  post: Post
  appInstance: string | null
}

/**
 * What observe works with. Whatever it is given it does not throw: a value that it cannot use becomes the default, one
 * above its maximum the maximum, and both are reported.
 */
export function observeSettings(
  given: ObserveOptions,
  environment: SdkEnvironment = readEnvironment(),
): ObserveSettings {
  const isGiven = typeof given === 'object' && given !== null
  const options = isGiven ? given : {}
  const report = createReport(options.diagnostics)
  const ignored = (option: string, detail: string): null => {
    report({ type: 'option_ignored', option, detail })
    return null
  }
  if (!isGiven) ignored('options', 'must be an object, such as { agent: "support" }')
  for (const name of Object.keys(options)) {
    if (!OPTION_NAMES.some((known) => known === name)) ignored(name, unknownOption(name, OPTION_NAMES, 'endpoint'))
  }
  const text = (name: 'apiKey' | 'agent'): string | null => {
    const value: unknown = options[name] ?? ''
    return typeof value === 'string' ? value.trim() || null : ignored(name, 'is ignored: it must be a text')
  }
  const number = (name: 'maxBuffer' | 'flushMs' | 'timeoutMs', fallback: number, maximum: number): number => {
    const value: unknown = options[name]
    if (value === undefined) return fallback
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 1) {
      ignored(name, `is ignored, and ${fallback} is used: it must be a number from 1`)
      return fallback
    }
    if (value <= maximum) return Math.floor(value)
    report({ type: 'option_clamped', option: name, given: value, used: maximum })
    return maximum
  }
  const { diagnostics, fetch } = options
  for (const [name, value] of Object.entries({ diagnostics, fetch })) {
    if (value !== undefined && typeof value !== 'function') ignored(name, 'is ignored: it must be a function')
  }
  return {
    apiKey: text('apiKey') ?? environment.apiKey,
    agent: text('agent') ?? 'default',
    captureLevel: captureLevel(options.captureLevel, ignored),
    endpoint: endpoint(options.endpoint || environment.apiUrl || DEFAULT_BASE_URL, ignored),
    maxBuffer: number('maxBuffer', LIMITS.observeBufferDefault, LIMITS.observeBufferMax),
    flushMs: number('flushMs', LIMITS.observeFlushMsDefault, MAX_TIMER_MS),
    timeoutMs: number('timeoutMs', LIMITS.observeTimeoutMsDefault, LIMITS.observeTimeoutMsMax),
    disabled: isDisabled(options.disabled, ignored) || environment.captureDisabled,
    report,
    post: typeof fetch === 'function' ? postByFetch(fetch) : postByNode,
    appInstance: environment.appInstance,
  }
}

const OPTION_NAMES = [
  'apiKey',
  'agent',
  'captureLevel',
  'endpoint',
  'maxBuffer',
  'flushMs',
  'timeoutMs',
  'disabled',
  'diagnostics',
  'fetch',
] as const satisfies (keyof ObserveOptions)[]

type Ignored = (option: string, detail: string) => null

const CAPTURE_LEVELS: readonly CaptureLevel[] = ['metadata', 'redacted', 'full']

/** Whoever names a level cares what is captured: one that is not known captures the least. */
function captureLevel(given: unknown, ignored: Ignored): CaptureLevel {
  if (given === undefined) return 'redacted'
  const known = CAPTURE_LEVELS.find((level) => level === given)
  if (known === undefined) ignored('captureLevel', `must be one of ${CAPTURE_LEVELS.join(', ')}: metadata is used`)
  return known ?? 'metadata'
}

function isDisabled(given: unknown, ignored: Ignored): boolean {
  if (given === undefined || typeof given === 'boolean') return given === true
  if (typeof given === 'string') return saysYes(given)
  ignored('disabled', 'is ignored: it must be true or false')
  return false
}

/** An address without its closing slashes, so that paths can be put behind it. Null when it is none: captures go nowhere else. */
function endpoint(given: unknown, ignored: Ignored): string | null {
  const address = typeof given === 'string' ? given.trim() : ''
  const problem = addressProblem(address)
  if (problem !== null) return ignored('endpoint', `(or COUNTERSIGN_API_URL) ${problem}; nothing is observed`)
  return address.replace(/\/+$/, '')
}

/** Node turns longer delays into one millisecond. */
const MAX_TIMER_MS = 2 ** 31 - 1
