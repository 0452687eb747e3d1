import { randomUUID } from 'node:crypto'
import {
  type CaptureLevel,
  type Contract,
  type Environment,
  type Gate,
  idSchema,
  type JsonValue,
  LABEL_PATTERN,
  LIMITS,
  type ProviderConstraints,
  providerConstraintsSchema,
  type UnmatchedPolicy,
} from '@countersign/protocol'
import { ReplayConfigError } from '../base/errors.js'
import { callable, choice, flag, path, refuse, shown, text, whole } from './option-checks.js'
import { unknownOption } from './option-names.js'
import { addressProblem, DEFAULT_BASE_URL, environmentOf, type SdkEnvironment } from './options.js'
import type { CompatEnforcement, Mode, NarrowingFeedback, ReplayOptions, ToolExecutor } from './replay-options.js'
import { type JoinedWorkflow, readWorkflowOption } from './workflow-options.js'

/** The options with every default filled in and every value checked. */
export interface ReplaySettings
  extends Pick<
    ReplayOptions,
    'contractsDir' | 'sessionYamlPath' | 'store' | 'onBlock' | 'onNarrow' | 'diagnostics' | 'onCheckpoint' | 'onInDoubt'
  > {
  readonly contracts: readonly Contract[] | null
  readonly agent: string | null
  readonly sessionId: string
  readonly mode: Mode | null
  readonly gate: Gate
  readonly onError: 'block' | 'allow'
  readonly unmatchedPolicy: UnmatchedPolicy
  readonly compatEnforcement: CompatEnforcement | null
  readonly maxRetries: number
  readonly maxUnguardedCalls: number
  readonly narrowingFeedback: NarrowingFeedback
  readonly providerConstraints: ProviderConstraints
  readonly principal: JsonValue | undefined
  readonly tools: ReadonlyMap<string, ToolExecutor> | null
  readonly apiKey: string | null
  /** The program hands a key over, and there is none in it: it expects a server. */
  readonly isKeyEmpty: boolean
  readonly runtimeUrl: string
  readonly environment: Environment
  /** False when neither option nor environment names one that exists: then it is treated as production. */
  readonly environmentKnown: boolean
  readonly captureLevel: CaptureLevel
  readonly labels: readonly string[]
  readonly workflow: JoinedWorkflow | null
  readonly takeover: boolean
  readonly timeoutMs: number
  readonly fetch: typeof globalThis.fetch
  readonly captureDisabled: boolean
  readonly appInstance: string | null
}

const TIMEOUT_MS = 10_000
const LONGEST_TIMEOUT_MS = 120_000

/** Checks the options of `replay`. What is wrong is refused here, with the option's name; nothing is clamped. */
export function readReplayOptions(options: ReplayOptions, env: SdkEnvironment): ReplaySettings {
  if (typeof options !== 'object' || options === null) {
    throw new ReplayConfigError(
      'the options of replay must be an object, such as { contractsDir }',
      'compilation_failed',
    )
  }
  for (const name of Object.keys(options)) {
    if (!OPTION_NAMES.some((known) => known === name)) refuse(name, unknownOption(name, OPTION_NAMES, 'runtimeUrl'))
  }
  const { environment, known } = environmentOf(options.environment ?? env.environment)
  if (options.environment !== undefined && !known) refuse('environment', 'must be development, staging or production')
  const apiKey = key(options.apiKey) ?? env.apiKey
  const workflow = readWorkflowOption(options.workflow, {
    apiKey,
    hasTools: options.tools !== undefined,
    watchesOnly: options.mode === 'shadow' || options.mode === 'log-only',
    onError: options.onError ?? 'block',
  })
  return {
    ...callbacks(options),
    ...sessionFile(options.sessionYamlPath ?? workflow?.sessionYamlPath),
    contracts: contracts(options.contracts),
    agent: text('agent', options.agent, LIMITS.idLength),
    sessionId: sessionId(options.sessionId),
    mode: choice<Mode>('mode', options.mode, ['enforce', 'shadow', 'log-only']) ?? null,
    gate: choice('gate', options.gate, ['reject_all', 'strip_partial', 'strip_blocked']) ?? 'reject_all',
    onError: choice('onError', options.onError, ['block', 'allow']) ?? 'block',
    unmatchedPolicy: choice('unmatchedPolicy', options.unmatchedPolicy, ['block', 'allow']) ?? 'block',
    compatEnforcement:
      choice<CompatEnforcement>('compatEnforcement', options.compatEnforcement, ['protective', 'advisory']) ?? null,
    maxRetries: whole('maxRetries', options.maxRetries, 0, LIMITS.maxRetries) ?? LIMITS.maxRetriesDefault,
    maxUnguardedCalls:
      whole('maxUnguardedCalls', options.maxUnguardedCalls, 0, 1_000_000) ?? LIMITS.maxUnguardedCallsDefault,
    narrowingFeedback:
      choice('narrowingFeedback', options.narrowingFeedback, ['silent', 'metadata', 'inject']) ?? 'silent',
    providerConstraints: constraints(options.providerConstraints),
    principal: principal(options.principal),
    tools: tools(options.tools),
    apiKey,
    isKeyEmpty: apiKey === null && 'apiKey' in options,
    runtimeUrl: url(options.runtimeUrl ?? env.apiUrl ?? DEFAULT_BASE_URL),
    environment,
    environmentKnown: known,
    captureLevel: choice('captureLevel', options.captureLevel, ['metadata', 'redacted', 'full']) ?? 'redacted',
    labels: labels(options.labels),
    workflow,
    takeover: flag('takeover', options.takeover) ?? false,
    timeoutMs: whole('timeoutMs', options.timeoutMs, 1, LONGEST_TIMEOUT_MS) ?? TIMEOUT_MS,
    // Looked up at each call, so that a program that replaces the global one later is heard.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    captureDisabled: env.captureDisabled,
    appInstance: env.appInstance,
  }
}

const OPTION_NAMES = [
  'contracts',
  'contractsDir',
  'sessionYamlPath',
  'agent',
  'sessionId',
  'mode',
  'gate',
  'onError',
  'unmatchedPolicy',
  'compatEnforcement',
  'maxRetries',
  'maxUnguardedCalls',
  'narrowingFeedback',
  'providerConstraints',
  'principal',
  'tools',
  'apiKey',
  'runtimeUrl',
  'environment',
  'captureLevel',
  'store',
  'onBlock',
  'onNarrow',
  'diagnostics',
  'labels',
  'onCheckpoint',
  'workflow',
  'onInDoubt',
  'takeover',
  'timeoutMs',
  'fetch',
] as const satisfies (keyof ReplayOptions)[]

type Callback = 'onBlock' | 'onNarrow' | 'diagnostics' | 'onCheckpoint' | 'onInDoubt'

function callbacks(options: ReplayOptions): Pick<ReplaySettings, Callback | 'contractsDir' | 'store'> {
  const { onBlock, onNarrow, diagnostics, onCheckpoint, onInDoubt, contractsDir, store } = options
  const given = { onBlock, onNarrow, diagnostics, onCheckpoint, onInDoubt, fetch: options.fetch }
  for (const [name, callback] of Object.entries(given)) callable(name, callback)
  path('contractsDir', contractsDir)
  path('sessionYamlPath', options.sessionYamlPath)
  checkStore(store)
  return {
    ...(onBlock && { onBlock }),
    ...(onNarrow && { onNarrow }),
    ...(diagnostics && { diagnostics }),
    ...(onCheckpoint && { onCheckpoint }),
    ...(onInDoubt && { onInDoubt }),
    ...(contractsDir !== undefined && { contractsDir }),
    ...(store && { store }),
  }
}

const sessionFile = (sessionYamlPath: string | undefined): Pick<ReplaySettings, 'sessionYamlPath'> =>
  sessionYamlPath === undefined ? {} : { sessionYamlPath }

function sessionId(value: string | undefined): string {
  if (value === undefined) return `ses_${randomUUID()}`
  if (!idSchema.safeParse(value).success) refuse('sessionId', 'must be 1 to 128 of A-Z a-z 0-9 _ . : -')
  return value
}

/** An empty key is none, as where a variable is handed on that is not set. */
function key(value: string | undefined): string | null {
  return text('apiKey', (typeof value === 'string' ? value.trim() : value) || undefined, 1_024)
}

function url(value: string): string {
  const problem = addressProblem(value)
  if (problem !== null) refuse('runtimeUrl', `(or COUNTERSIGN_API_URL) ${problem}`)
  return value
}

function contracts(value: ReplayOptions['contracts']): readonly Contract[] | null {
  if (value === undefined) return null
  const given: readonly Contract[] = [value].flat()
  for (const contract of given) {
    if (typeof contract === 'string') refuse('contracts', 'takes contracts as objects: give a folder as contractsDir')
    if (typeof contract === 'object' && contract !== null && 'compiled_hash' in contract) {
      refuse('contracts', 'takes contracts as they are written: what prepareContracts returns is for validate')
    }
  }
  return given
}

function checkStore(store: ReplayOptions['store']): void {
  if (store === undefined) return
  const isStore = typeof store?.load === 'function' && typeof store.save === 'function'
  if (!isStore) refuse('store', 'must have the functions load(sessionId) and save(sessionId, stored, expectedVersion)')
}

function constraints(value: ProviderConstraints | undefined): ProviderConstraints {
  const checked = providerConstraintsSchema.safeParse(value ?? {})
  if (!checked.success)
    refuse('providerConstraints', 'must be { block_incompatible?: string[], warn_incompatible?: string[] }')
  return checked.data
}

function labels(value: readonly string[] | undefined): readonly string[] {
  const given = value ?? []
  if (!Array.isArray(given)) refuse('labels', 'must be an array')
  for (const label of given) {
    if (!isLabel(label)) refuse('labels', `holds ${shown(label)}: ${LABEL_RULE}`)
  }
  const distinct = [...new Set(given)]
  if (distinct.length > LIMITS.labelsPerSession) refuse('labels', `may hold ${LIMITS.labelsPerSession} at most`)
  return distinct
}

export function checkLabel(label: unknown): asserts label is string {
  if (!isLabel(label)) throw new ReplayConfigError(`${shown(label)} is no label: ${LABEL_RULE}`, null)
}

const isLabel = (value: unknown): value is string => typeof value === 'string' && LABEL_PATTERN.test(value)

const LABEL_RULE = 'a label is 1 to 128 letters, digits, hyphens or underscores (A-Z a-z 0-9 - _)'

/** Checks what `narrow` is given. A text would be taken for its letters. */
export function checkToolFilter(tools: unknown): asserts tools is readonly string[] {
  if (Array.isArray(tools) && tools.every((name) => typeof name === 'string')) return
  throw new ReplayConfigError(`narrow takes an array of tool names, not ${shown(tools)}`, null)
}

function principal(value: unknown): JsonValue | undefined {
  if (value === undefined || value === null) return undefined
  let written: string | undefined
  try {
    written = JSON.stringify(value)
  } catch {
    written = undefined
  }
  if (written === undefined) refuse('principal', 'must be a value that JSON can write')
  if (Buffer.byteLength(written) > LIMITS.principalBytes)
    refuse('principal', `may take ${LIMITS.principalBytes} bytes at most`)
  return JSON.parse(written)
}

function tools(value: ReplayOptions['tools']): ReadonlyMap<string, ToolExecutor> | null {
  if (value === undefined) return null
  // The entries of a Map, or the names in an array, are not what Object.entries finds.
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Map) {
    refuse('tools', 'must be an object of functions by tool name, such as { search: async ({ query }) => … }')
  }
  const map = new Map(Object.entries(value))
  for (const [name, executor] of map)
    if (typeof executor !== 'function') refuse('tools', `has no function under ${JSON.stringify(name)}`)
  return map
}
