import type {
  ApprovalRequest,
  ApprovalResponse,
  CaptureLevel,
  Contract,
  Environment,
  Gate,
  JsonValue,
  NarrowedTool,
  Outcome,
  ProviderConstraints,
  UnmatchedPolicy,
} from '@countersign/protocol'
import type { DiagnosticsCallback } from '../base/diagnostics.js'
import type { EnforcementDecision } from '../base/errors.js'
import type { PreparedContracts } from '../contracts/contracts.js'
import type { SessionStore } from './session-store.js'
import type { WorkflowOptions } from './workflow-options.js'

/** What a tool gets besides its arguments. */
export interface ToolContext {
  /** The id that the model gave the call. */
  readonly callId: string
  /** The same for every attempt at this call. Pass it to services that accept one. */
  readonly idempotencyKey: string
  /** Aborted when the session is killed or the time limit of the tool is over. */
  readonly signal: AbortSignal
}
/** A tool of the program. */
// biome-ignore lint/suspicious/noExplicitAny: only the program knows the argument types of its tools
export type ToolExecutor = (args: any, context: ToolContext) => unknown
/** The tools of the program by name. */
export type ToolMap = Readonly<Record<string, ToolExecutor>>

/** A call of a tool that is to run: from the program, its framework, or a host of the gateway. */
export interface ToolInvocation {
  /** The id of the call; null where its arguments say which one is meant. */
  readonly callId: string | null
  /** The tool that `run` runs: it must be the one that was judged. Default: that one. */
  readonly tool?: string
  /** They must be those that were judged. They are compared, and never passed on. Default: those. */
  readonly args?: unknown
  /** Runs the tool, with the arguments that were judged. Default: the executor in the option `tools`. */
  readonly run?: ToolExecutor
  /** Other processes that hold the session may run the call, too: the server says which of them does. */
  readonly exclusive?: boolean
  /** Who approved a call with an open question, where the session did not ask by itself. */
  readonly approvedBy?: string | null
  /** Aborted where the call is given up. Its tool has a moment to say how it ended; then that is unknown. */
  readonly signal?: AbortSignal | undefined
}

/** A call whose outcome is unknown, because the process that ran it was lost. */
export interface CallInDoubt {
  /** The id that the model gave the call. */
  readonly callId: string
  /** The name of the tool. */
  readonly toolName: string
  /** The arguments as the server stored them; null if the capture level is `metadata`, or they were erased. */
  readonly arguments: JsonValue
  /** The salted hash of the arguments. */
  readonly argumentHash: string
  /** The key that the tool was given for this call. */
  readonly idempotencyKey: string
  /** When the model proposed the call, as ISO 8601. */
  readonly proposedAt: string
  /** A person had to approve the call first. If nobody had, it did not run. */
  readonly asked: boolean
}

export type Mode = 'enforce' | 'shadow' | 'log-only'
export type CompatEnforcement = 'protective' | 'advisory'
/** How far a session protects: it watches, it blocks in this process, or the server decides. */
export type ProtectionLevel = 'monitor' | 'protect' | 'govern'
export type NarrowingFeedback = 'silent' | 'metadata' | 'inject'
/** A gate of the server's, or `answer`: the blocked calls of wrapped tools stay, and running one gives its remedy. */
export type SessionGate = Gate | 'answer'
/** The tools of one request after narrowing. */
export interface NarrowResult {
  /** The definitions of the tools that the model was offered, as the program wrote them. */
  readonly allowed: readonly unknown[]
  /** The tools that were removed, and why. */
  readonly removed: readonly NarrowedTool[]
}

/** Options of `replay`. */
export interface ReplayOptions<Tools extends ToolMap = ToolMap> {
  /** Contracts as objects, or the result of `prepareContracts`. For files, use `contractsDir`. */
  contracts?: Contract | readonly Contract[] | PreparedContracts
  /** Folder of the contract files, or a pack with a `contracts` folder. */
  contractsDir?: string
  /**
   * Path of `session.yaml`.
   * @defaultValue found beside the contracts
   */
  sessionYamlPath?: string
  /**
   * Name of the agent.
   * @defaultValue the agent of `session.yaml`
   */
  agent?: string
  /**
   * Id of the session. An existing session is recovered.
   * @defaultValue generated
   */
  sessionId?: string
  /**
   * How far the session intervenes.
   * - `enforce`: block calls that break a rule
   * - `shadow`: block nothing, but record what would be blocked
   * - `log-only`: only capture calls
   * @defaultValue `'enforce'`
   */
  mode?: Mode
  /**
   * What to do with a response that contains a blocked call. `openSession` uses `answer` by default.
   * - `reject_all`: throw `ReplayContractError`
   * - `strip_partial`: remove the blocked calls; throw if no call is left
   * - `strip_blocked`: remove the blocked calls; return a text response if no call is left
   * - `answer`: leave blocked calls of wrapped tools in the response; running one returns its remedy. Others are
   *   removed, as by `strip_blocked`
   * @defaultValue `'reject_all'`
   */
  gate?: SessionGate
  /**
   * What to do with a call while the server cannot be reached.
   * - `block`: block it
   * - `allow`: decide it locally by the same rules, from the last known state or, if there is none, from empty budgets
   * @defaultValue `'block'`
   */
  onError?: 'block' | 'allow'
  /**
   * What to do with a call of a tool that has no contract.
   * - `block`: block it
   * - `allow`: allow it
   * @defaultValue `'block'`
   */
  unmatchedPolicy?: UnmatchedPolicy
  /**
   * How far a session without a server intervenes.
   * - `protective`: block calls
   * - `advisory`: block nothing, but report to `diagnostics` what would be blocked
   * @defaultValue `'protective'`
   */
  compatEnforcement?: CompatEnforcement
  /**
   * The level below which the session refuses to start; with a plan that is looked up, to make calls.
   * - `monitor`: any level will do
   * - `protect`: calls must be blocked, in this process at least
   * - `govern`: the server must decide
   * @defaultValue `'monitor'`
   */
  requireProtection?: ProtectionLevel
  /**
   * How many times the model may try again after a block. It is told the remedy. From 0 to 5.
   * @defaultValue `0`
   */
  maxRetries?: number
  /**
   * How many calls `onError: 'allow'` lets through without the server. One more kills the session. From 0 to 1000000.
   * @defaultValue `3`
   */
  maxUnguardedCalls?: number
  /**
   * Whether the model is told which tools were removed.
   * - `silent`: no
   * - `metadata`: no, and the program reads it with `getState()` and `getLastNarrowing()` alone: `onNarrow` is not
   *   called
   * - `inject`: yes, in a system message with the tools and the reasons
   * @defaultValue `'silent'`
   */
  narrowingFeedback?: NarrowingFeedback
  /**
   * Patterns of provider/model: `block_incompatible` refuses a match, `warn_incompatible` reports it. One that
   * misspells a provider is refused.
   * @defaultValue `{}`
   */
  providerConstraints?: ProviderConstraints
  /** Who the agent acts for, as policies see it. */
  principal?: unknown
  /**
   * In place of `principal`: a JWT of an issuer that is listed for the tenant, or a function that fetches one. It
   * proves to the server who the agent acts for, and opens one session; a function is called whenever the session is
   * opened.
   */
  principalToken?: string | (() => string | Promise<string>)
  /** The program's tools by name; `session.tools` wraps them. Required for the server to govern the session. */
  tools?: Tools
  /**
   * API key of the tenant. With `tools`, the server governs the session.
   * @defaultValue `COUNTERSIGN_API_KEY`
   */
  apiKey?: string
  /**
   * URL of the server.
   * @defaultValue `COUNTERSIGN_API_URL`, else http://127.0.0.1:4319
   */
  runtimeUrl?: string
  /**
   * The environment whose approved plan is used if no contracts are given, and how it is used.
   * - `development`: in shadow mode
   * - `staging`: enforced, with `compatEnforcement: 'advisory'`; calls pass if there is no plan or no service
   * - `production`: enforced; calls are blocked if there is no usable plan
   * @defaultValue `COUNTERSIGN_ENVIRONMENT`, else `NODE_ENV`, else `production`
   */
  environment?: Environment
  /**
   * What is captured and stored.
   * - `metadata`: tool names
   * - `redacted`: tool names and arguments
   * - `full`: everything, including messages and results
   * @defaultValue `'redacted'`
   */
  captureLevel?: CaptureLevel
  /**
   * Stores the state of a session without a server, and its captures.
   * @defaultValue memory
   */
  store?: SessionStore
  /** Called with every decision that blocks a call. */
  onBlock?: (decision: EnforcementDecision) => void
  /** Called when tools were removed from a request. */
  onNarrow?: (result: NarrowResult) => void
  /**
   * Called with diagnostic events.
   * @defaultValue warnings on the console
   */
  diagnostics?: DiagnosticsCallback
  /** Labels of the session from its start. */
  labels?: readonly string[]
  /**
   * Asks a person to approve a call, or `askPeople()`, which asks the members of the tenant. Required if a contract has
   * a checkpoint without `ask`.
   */
  onCheckpoint?: (request: ApprovalRequest) => Promise<ApprovalResponse> | ApprovalResponse
  /** The workflow and the role of the session in it. */
  workflow?: WorkflowOptions
  /**
   * Returns the outcome of a call that was still running when an earlier holder of the session was lost.
   * @defaultValue `unknown`
   */
  onInDoubt?: (call: CallInDoubt) => Promise<Outcome> | Outcome
  /**
   * Take the session over even if its holder may still be running.
   * @defaultValue `false`
   */
  takeover?: boolean
  /**
   * Time limit for one exchange with the server, retries included. From 1 to 120000.
   * @defaultValue `10000`
   */
  timeoutMs?: number
  /**
   * Sends the requests to the server.
   * @defaultValue Node's HTTP client
   */
  fetch?: typeof globalThis.fetch
}
