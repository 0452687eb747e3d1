import { randomUUID } from 'node:crypto'
import {
  type ApprovalRequest,
  type ApprovalResponse,
  type CaptureLevel,
  type Contract,
  type Environment,
  type JsonValue,
  type ProviderConstraints,
  providerConstraintsSchema,
  type UnmatchedPolicy,
} from '@countersign/protocol'
import { ReplayConfigError, ReplayUnavailableError } from '../base/errors.js'
import { type Exchange, exchangeBy } from '../base/exchange.js'
import { isPrepared, type PreparedContracts } from '../contracts/contracts.js'
import { waitSecondsOf } from './ask-people.js'
import { refuseWrongOptions } from './check-options.js'
import { addressProblem, DEFAULT_BASE_URL, environmentOf, type SdkEnvironment } from './environment.js'
import { OPTIONS } from './option-table.js'
import type {
  CompatEnforcement,
  Mode,
  NarrowingFeedback,
  ProtectionLevel,
  ReplayOptions,
  SessionGate,
  ToolExecutor,
} from './replay-options.js'
import { type JoinedWorkflow, readWorkflowOption } from './workflow-settings.js'

/** Asks a person about one checkpoint of a call. */
export type OnCheckpoint = (request: ApprovalRequest) => Promise<ApprovalResponse> | ApprovalResponse

type OptionalName = 'contractsDir' | 'sessionYamlPath' | 'store' | 'onBlock' | 'onNarrow' | 'diagnostics' | 'onInDoubt'

/** The options with every value checked and every default filled in. */
export interface ReplaySettings extends Pick<ReplayOptions, OptionalName> {
  /** Absent: the program has no callback. */
  readonly onCheckpoint?: OnCheckpoint
  /** Every checkpoint asks people; null: those that say so. */
  readonly asks: 'people' | null
  /** How long a model call waits for people. */
  readonly waitSeconds: number
  readonly contracts: readonly Contract[] | PreparedContracts | null
  readonly agent: string | null
  readonly sessionId: string
  /** Null if not given: an approved plan then suggests one. */
  readonly mode: Mode | null
  readonly gate: SessionGate
  readonly onError: 'block' | 'allow'
  readonly unmatchedPolicy: UnmatchedPolicy
  /** Null if not given: an approved plan then suggests one. */
  readonly compatEnforcement: CompatEnforcement | null
  readonly requireProtection: ProtectionLevel
  readonly maxRetries: number
  readonly maxUnguardedCalls: number
  readonly narrowingFeedback: NarrowingFeedback
  readonly providerConstraints: ProviderConstraints
  readonly principal: JsonValue | undefined
  /** Null: nothing proves the principal. */
  readonly principalToken: PrincipalToken | null
  readonly tools: Map<string, ToolExecutor> | null
  /** Executors are added while the session runs, so that nothing can be said about missing ones at its start. */
  readonly addsTools: boolean
  /** Null where one process holds the session for itself. */
  readonly shared: Sharing | null
  /** The program can answer a checkpoint later, so that `onCheckpoint` may be missing. */
  readonly asksLater: boolean
  readonly apiKey: string | null
  /** What holds blank text in place of a key, which is never meant; null if nothing does. */
  readonly emptyKey: string | null
  /** The option `apiKey` is given, even if as undefined: the program expects a server. */
  readonly hasKeyOption: boolean
  readonly runtimeUrl: string
  readonly environment: Environment
  /** False if neither the option nor a variable names an environment that exists; production is assumed. */
  readonly environmentKnown: boolean
  readonly captureLevel: CaptureLevel
  readonly labels: readonly string[]
  readonly workflow: JoinedWorkflow | null
  readonly takeover: boolean
  readonly timeoutMs: number
  readonly exchange: Exchange
  readonly captureDisabled: boolean
  readonly appInstance: string | null
}

/** Fetches a token for a session that is about to be opened. */
export type PrincipalToken = () => Promise<string>

/** A session that several processes hold together, and continue in turn. */
export interface Sharing {
  readonly holderId: string
  /** Called with the ids of calls and responses by which a later request can be told to be of this session. */
  readonly onAnswer: (ids: readonly string[]) => void
}

const DEFAULTS = OPTIONS.replay

/** Checks the options of `replay` and fills in the defaults. Throws for anything wrong; nothing is clamped. */
export function readReplayOptions(options: ReplayOptions, env: SdkEnvironment): ReplaySettings {
  if (typeof options !== 'object' || options === null) {
    throw new ReplayConfigError(
      'the options of replay must be an object, such as { contractsDir }',
      'compilation_failed',
    )
  }
  refuseWrongOptions('replay', options)
  refuseGate(options)
  const { environment, known } = environmentOf(options.environment ?? env.environment)
  const apiKey = options.apiKey?.trim() || env.apiKey
  const workflow = readWorkflowOption(options.workflow, {
    apiKey,
    hasTools: options.tools !== undefined,
    watchesOnly: options.mode === 'shadow' || options.mode === 'log-only',
    onError: options.onError ?? DEFAULTS.onError.default,
  })
  const { onCheckpoint } = options
  const waitSeconds = waitSecondsOf(onCheckpoint)
  return {
    ...optionalSettings(options, workflow),
    ...(waitSeconds === null && onCheckpoint && { onCheckpoint }),
    asks: waitSeconds === null ? null : 'people',
    waitSeconds: waitSeconds ?? 0,
    contracts: contractsOf(options.contracts),
    agent: options.agent ?? null,
    sessionId: options.sessionId ?? `ses_${randomUUID()}`,
    mode: options.mode ?? null,
    gate: options.gate ?? DEFAULTS.gate.default,
    onError: options.onError ?? DEFAULTS.onError.default,
    unmatchedPolicy: options.unmatchedPolicy ?? DEFAULTS.unmatchedPolicy.default,
    compatEnforcement: options.compatEnforcement ?? null,
    requireProtection: options.requireProtection ?? DEFAULTS.requireProtection.default,
    maxRetries: options.maxRetries ?? DEFAULTS.maxRetries.default,
    maxUnguardedCalls: options.maxUnguardedCalls ?? DEFAULTS.maxUnguardedCalls.default,
    narrowingFeedback: options.narrowingFeedback ?? DEFAULTS.narrowingFeedback.default,
    providerConstraints: providerConstraintsSchema.parse(
      options.providerConstraints ?? DEFAULTS.providerConstraints.default,
    ),
    principal: copyOf(options.principal),
    principalToken: tokenOf(options),
    tools: options.tools === undefined ? null : new Map(Object.entries(options.tools)),
    addsTools: false,
    shared: null,
    asksLater: false,
    apiKey,
    emptyKey: apiKey === null ? emptyKeyOf(options, env) : null,
    hasKeyOption: 'apiKey' in options,
    runtimeUrl: options.runtimeUrl ?? apiUrlOf(env),
    environment,
    environmentKnown: known,
    captureLevel: options.captureLevel ?? DEFAULTS.captureLevel.default,
    labels: [...new Set(options.labels)],
    workflow,
    takeover: options.takeover ?? DEFAULTS.takeover.default,
    timeoutMs: options.timeoutMs ?? DEFAULTS.timeoutMs.default,
    exchange: exchangeBy(options.fetch),
    captureDisabled: env.captureDisabled,
    appInstance: env.appInstance,
  }
}

/** The same for `openSession`, where blocked calls are answered and executors may come later. */
export function readSessionOptions(options: ReplayOptions, env: SdkEnvironment): ReplaySettings {
  const addsTools = options?.tools === undefined
  const settings = readReplayOptions(addsTools ? { ...options, tools: {} } : options, env)
  return { ...settings, addsTools, asksLater: true, gate: options?.gate ?? 'answer' }
}

function refuseGate({ gate, tools }: ReplayOptions): void {
  if (gate !== 'answer' || tools !== undefined) return
  throw new ReplayConfigError(
    "gate: 'answer' leaves blocked calls in the response, so that only wrapped tools may run them: pass the option tools",
    'constraints_without_wrapper',
  )
}

/** Only those that were given: an absent callback stays absent. */
function optionalSettings(options: ReplayOptions, workflow: JoinedWorkflow | null): Pick<ReplaySettings, OptionalName> {
  const { onBlock, onNarrow, diagnostics, onInDoubt, contractsDir, store } = options
  const sessionYamlPath = options.sessionYamlPath ?? workflow?.sessionYamlPath
  return {
    ...(onBlock && { onBlock }),
    ...(onNarrow && { onNarrow }),
    ...(diagnostics && { diagnostics }),
    ...(onInDoubt && { onInDoubt }),
    ...(store && { store }),
    ...(contractsDir !== undefined && { contractsDir }),
    ...(sessionYamlPath !== undefined && { sessionYamlPath }),
  }
}

function emptyKeyOf({ apiKey }: ReplayOptions, { isKeyEmpty }: SdkEnvironment): string | null {
  if (isKeyEmpty) return 'COUNTERSIGN_API_KEY is empty'
  return apiKey === undefined ? null : 'the option apiKey is empty and COUNTERSIGN_API_KEY is not set'
}

function contractsOf(contracts: ReplayOptions['contracts']): ReplaySettings['contracts'] {
  if (contracts === undefined) return null
  return isPrepared(contracts) ? contracts : [contracts].flat()
}

function apiUrlOf({ apiUrl }: SdkEnvironment): string {
  const problem = apiUrl === null ? null : addressProblem(apiUrl)
  if (problem !== null) throw new ReplayConfigError(`COUNTERSIGN_API_URL ${problem}`, 'compilation_failed')
  return apiUrl ?? DEFAULT_BASE_URL
}

function tokenOf({ principal, principalToken: given }: ReplayOptions): ReplaySettings['principalToken'] {
  if (given === undefined) return null
  if (principal !== undefined && principal !== null) {
    throw new ReplayConfigError('give either principal or principalToken, which proves it', 'compilation_failed')
  }
  return async () => {
    let token: unknown
    try {
      token = typeof given === 'function' ? await given() : given
    } catch (cause) {
      throw new ReplayUnavailableError('the function of the option principalToken failed', { cause })
    }
    if (typeof token === 'string' && token !== '') return token
    throw new ReplayUnavailableError('the function of the option principalToken returned no token')
  }
}

/** A copy as JSON: later changes to the program's object must not change who it acts for. */
const copyOf = (value: unknown): JsonValue | undefined =>
  value === undefined || value === null ? undefined : JSON.parse(JSON.stringify(value))
