import type {
  ApprovalRequest,
  ApprovalResponse,
  CaptureLevel,
  Contract,
  Environment,
  Gate,
  NarrowedTool,
  Outcome,
  ProviderConstraints,
  UnmatchedPolicy,
} from '@countersign/protocol'
import type { DiagnosticsCallback } from '../base/diagnostics.js'
import type { EnforcementDecision } from '../base/errors.js'
import type { SessionStore } from './session-store.js'
import type { WorkflowOptions } from './workflow-options.js'

export interface ToolContext {
  /** The id that the model gave the call. */
  readonly callId: string
  /** The same for every attempt at this call: hand it to services that take one. */
  readonly idempotencyKey: string
  /** Aborted when the session is killed or the tool's time is up. */
  readonly signal: AbortSignal
}
// biome-ignore lint/suspicious/noExplicitAny: a program's executors have argument types of their own, which only it knows
export type ToolExecutor = (args: any, context: ToolContext) => unknown
export type ToolMap = Readonly<Record<string, ToolExecutor>>

/** A call whose outcome is not known, because whoever ran it did not come back. */
export interface CallInDoubt {
  readonly callId: string
  readonly toolName: string
  readonly argumentHash: string
  readonly idempotencyKey: string
  readonly proposedAt: string
}

export type Mode = 'enforce' | 'shadow' | 'log-only'
export type CompatEnforcement = 'protective' | 'advisory'
export type NarrowingFeedback = 'silent' | 'metadata' | 'inject'
export interface NarrowResult {
  /** Tool definitions as the program gave them. */
  readonly allowed: readonly unknown[]
  readonly removed: readonly NarrowedTool[]
}

export interface ReplayOptions<Tools extends ToolMap = ToolMap> {
  contracts?: Contract | readonly Contract[]
  contractsDir?: string
  sessionYamlPath?: string
  agent?: string
  sessionId?: string
  mode?: Mode
  gate?: Gate
  onError?: 'block' | 'allow'
  unmatchedPolicy?: UnmatchedPolicy
  compatEnforcement?: CompatEnforcement
  maxRetries?: number
  maxUnguardedCalls?: number
  narrowingFeedback?: NarrowingFeedback
  providerConstraints?: ProviderConstraints
  principal?: unknown
  tools?: Tools
  apiKey?: string
  runtimeUrl?: string
  environment?: Environment
  captureLevel?: CaptureLevel
  store?: SessionStore
  onBlock?: (decision: EnforcementDecision) => void
  onNarrow?: (result: NarrowResult) => void
  diagnostics?: DiagnosticsCallback
  labels?: readonly string[]
  onCheckpoint?: (request: ApprovalRequest) => Promise<ApprovalResponse> | ApprovalResponse
  workflow?: WorkflowOptions
  /** What became of a call that a lost holder of this session left behind. `unknown` unless said. */
  onInDoubt?: (call: CallInDoubt) => Promise<Outcome> | Outcome
  /** Take a session of the given id over from a holder that may still be alive. */
  takeover?: boolean
  /** For one exchange with the server, retries included. */
  timeoutMs?: number
  fetch?: typeof globalThis.fetch
}
