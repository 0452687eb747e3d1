import type { JsonObject } from '@countersign/protocol'

/** A tool call that a model proposed, as read from its response. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  /** Position among all calls of the response. */
  readonly index: number
  /** Which of the `n` alternatives it belongs to. */
  readonly choice: number
  /** `builtin`: a tool the provider defines and the program runs, such as a local shell. */
  readonly kind: 'function' | 'custom' | 'legacy' | 'builtin'
  readonly argumentsText: string
  /** Null if there is a problem. */
  readonly arguments: JsonObject | null
  /** Why the call cannot be read; it is blocked for it. Null for a call that can. */
  readonly problem: string | null
}

/** A tool that the provider ran itself: it can be counted, not stopped. */
export interface ProviderRun {
  readonly type: string
  readonly name: string | null
  readonly id: string | null
  /** What it was run with: its input, or all of the item but its results. Null if that cannot be read. */
  readonly arguments: JsonObject | null
}

/** Why the model stopped, as the normalized response names it. */
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter'
