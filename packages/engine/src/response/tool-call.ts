import type { JsonObject } from '@countersign/protocol'

/** A tool call that a model proposed, as read from its response. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  /** Position among all calls of the response. */
  readonly index: number
  /** Which of the alternatives of `n` it belongs to. */
  readonly choice: number
  /** `builtin`: a tool the provider defines and the program runs, such as a local shell. */
  readonly kind: 'function' | 'custom' | 'legacy' | 'builtin'
  readonly argumentsText: string
  /** Null when there is a problem. */
  readonly arguments: JsonObject | null
  /** Why the call cannot be judged; then it must be blocked. */
  readonly problem: string | null
}

/** A tool that the provider has run itself: it can be recorded, and no longer stopped. */
export interface ProviderRun {
  readonly type: string
  readonly name: string | null
  readonly id: string | null
}

/** Why the model stopped, in the words of the normalized response. */
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter'
