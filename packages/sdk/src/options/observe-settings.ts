import type { CaptureLevel } from '@countersign/protocol'
import { createReport } from '../base/create-report.js'
import type { Report } from '../base/diagnostics.js'
import { type Exchange, exchangeBy } from '../base/exchange.js'
import { unknownOptions } from './check-options.js'
import { addressProblem, DEFAULT_BASE_URL, readEnvironment, type SdkEnvironment, saysYes } from './environment.js'
import type { ObserveOptions } from './observe-options.js'
import { OPTIONS } from './option-table.js'

export interface ObserveSettings {
  /** Null if there is none: nothing is observed. */
  apiKey: string | null
  agent: string
  captureLevel: CaptureLevel
  /** Null if what was given is no URL: nothing is observed. */
  endpoint: string | null
  maxBuffer: number
  flushMs: number
  timeoutMs: number
  disabled: boolean
  report: Report
  exchange: Exchange
  appInstance: string | null
}

const ROWS = OPTIONS.observe

/**
 * Reads the options of `observe`. It never throws: a value that cannot be used becomes the default, one above its
 * maximum becomes the maximum, and both are reported.
 */
export function readObserveOptions(
  given: ObserveOptions,
  environment: SdkEnvironment = readEnvironment(),
): ObserveSettings {
  const isGiven = typeof given === 'object' && given !== null
  const options = isGiven ? given : {}
  const report = createReport(options.diagnostics)
  const ignore = (option: string, detail: string) => report({ type: 'option_ignored', option, detail })
  if (!isGiven) ignore('options', 'must be an object, such as { agent: "support" }')
  for (const [name, problem] of unknownOptions('observe', options)) ignore(name, problem)

  /** The value of an option; undefined if it was not given or cannot be used. */
  const usable = <Name extends keyof ObserveOptions>(name: Name, instead: string): ObserveOptions[Name] | undefined => {
    const value = options[name]
    const problem = value === undefined ? null : ROWS[name].kind.problem(value)
    if (problem === null) return value
    ignore(name, `${problem}; ${instead}`)
    return undefined
  }
  const number = (name: 'maxBuffer' | 'flushMs' | 'timeoutMs'): number => {
    const { kind, default: usual } = ROWS[name]
    const value: unknown = options[name]
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 1)
      return usable(name, `${usual} is used`) ?? usual
    if (value <= kind.max) return Math.floor(value)
    report({ type: 'option_clamped', option: name, given: value, used: kind.max })
    return kind.max
  }
  const isDisabled = (): boolean => {
    const value: unknown = options.disabled
    return typeof value === 'string' ? saysYes(value) : (usable('disabled', IGNORED) ?? ROWS.disabled.default)
  }
  /** Null if there is none that can be used: captures must not go anywhere else. */
  const endpoint = (): string | null => {
    const given: unknown = options.endpoint
    const address = (typeof given === 'string' ? given.trim() : given) || environment.apiUrl || DEFAULT_BASE_URL
    const problem = addressProblem(address)
    // Paths are appended to it.
    if (problem === null) return String(address).replace(/\/+$/, '')
    ignore(
      'endpoint',
      `${address === environment.apiUrl ? '(from COUNTERSIGN_API_URL) ' : ''}${problem}; nothing is observed`,
    )
    return null
  }

  usable('diagnostics', IGNORED)
  const fetch = usable('fetch', IGNORED)
  return {
    apiKey: usable('apiKey', IGNORED)?.trim() || environment.apiKey,
    agent: usable('agent', IGNORED)?.trim() || ROWS.agent.default,
    // A program that names a level cares what is captured: an unknown one captures the least.
    captureLevel:
      options.captureLevel === undefined
        ? ROWS.captureLevel.default
        : (usable('captureLevel', 'metadata is used') ?? 'metadata'),
    endpoint: endpoint(),
    maxBuffer: number('maxBuffer'),
    flushMs: number('flushMs'),
    timeoutMs: number('timeoutMs'),
    disabled: isDisabled() || environment.captureDisabled,
    report,
    exchange: exchangeBy(fetch),
    appInstance: environment.appInstance,
  }
}

const IGNORED = 'the option is ignored'
