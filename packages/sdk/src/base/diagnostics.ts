import type { BlockReason, NarrowedTool } from '@countersign/protocol'

/** What the client tells the `diagnostics` callback. Nothing here changes what is allowed. */
export interface DiagnosticEvents {
  /** The original client was called directly; the session is compromised. The call itself was not stopped. */
  replay_bypass_detected: { session_id: string; method: string }
  replay_provider_warning: { session_id: string; provider: string; model: string | null; pattern: string }
  /** `observe` was called twice on one client. */
  double_wrap: { detail: string }
  unsupported_client: { detail: string }
  /** Captures were dropped because the buffer was full. */
  buffer_overflow: { dropped: number }
  replay_compile_error: { errors: readonly string[] }
  replay_compile_warning: { warnings: readonly string[] }
  capture_error: { detail: string }
  replay_killed: { session_id: string; cause: string }
  /** The server failed; from here on the client enforces alone, or blocks: the detail says which, and from what state. */
  replay_degraded: { session_id: string; detail: string }
  replay_recovered: { session_id: string; detail: string }
  /** What the session can do with what it was given, where that is less than the program may expect. */
  replay_protection_level: { session_id: string; level: 'monitor' | 'protect' | 'govern'; detail: string }
  /** Advisory enforcement: this would have been blocked. */
  replay_advisory_block: { session_id: string; tool_name: string; reason: BlockReason; remedy: string | null }
  replay_advisory_narrow: { session_id: string; removed: readonly NarrowedTool[] }
  /** Where nothing is enforced, a judgement that fails changes nothing. */
  replay_judgement_failed: { session_id: string; detail: string }
  /** The server will not take a label or filter of the session. */
  replay_control_refused: { session_id: string; detail: string }
  /** The service takes no more requests of this tenant just now; the call waits, and is sent again. */
  replay_throttled: { session_id: string; wait_ms: number; detail: string }
  /** A call waits long for the one before it, most likely for a stream that the program does not read. */
  replay_turn_waiting: { session_id: string; detail: string }
  governance_attachment: { session_id: string; state: string; detail: string }
  checkpoint_requested: { session_id: string; checkpoint_id: string; tool_name: string }
  checkpoint_resolved: { session_id: string; checkpoint_id: string; tool_name: string; decision: string }
  /** A setting was out of range and was brought back into it. */
  option_clamped: { option: string; given: number; used: number }
  /** `observe` cannot use an option: it is no option, or of another type. */
  option_ignored: { option: string; detail: string }
  /** A callback of the program threw. */
  callback_error: { callback: string; detail: string }
}

export type DiagnosticType = keyof DiagnosticEvents
export type Diagnostic = {
  [Type in DiagnosticType]: { readonly type: Type } & Readonly<DiagnosticEvents[Type]>
}[DiagnosticType]
export type DiagnosticsCallback = (event: Diagnostic) => void

export type Report = (event: Diagnostic) => void

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Where a name has several addresses, Node gathers what each of them said, under no message of its own.
  if (error.message === '' && error instanceof AggregateError) return error.errors.map(messageOf).join(', ')
  return error.message
}
