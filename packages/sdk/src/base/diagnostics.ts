import type { BlockReason, NarrowedTool } from '@countersign/protocol'

/** The events that the `diagnostics` callback receives, by type. They report; they never change what is allowed. */
export interface DiagnosticEvents {
  /** The original client was called directly. That call was not stopped; the session is now compromised. */
  replay_bypass_detected: { session_id: string; method: string }
  /** Provider and model match a `warn_incompatible` pattern. */
  replay_provider_warning: { session_id: string; provider: string; model: string | null; pattern: string }
  /** The client is already wrapped, so `observe` does nothing. */
  double_wrap: { detail: string }
  /** The client is not one that the SDK supports. */
  unsupported_client: { detail: string }
  /** Captures were dropped because the buffer was full. */
  buffer_overflow: { dropped: number }
  /** The contracts do not compile. */
  replay_compile_error: { errors: readonly string[] }
  /** The contracts compile, with warnings. */
  replay_compile_warning: { warnings: readonly string[] }
  /** Captures could not be made or sent. */
  capture_error: { detail: string }
  /** The session was killed; `cause` says why. */
  replay_killed: { session_id: string; cause: string }
  /** The server failed. `detail` says whether calls are now blocked or decided locally, and from which state. */
  replay_degraded: { session_id: string; detail: string }
  /** The server responds and decides again. */
  replay_recovered: { session_id: string; detail: string }
  /** The session protects less than the program may expect; `detail` says why. */
  replay_protection_level: { session_id: string; level: 'monitor' | 'protect' | 'govern'; detail: string }
  /** Advisory enforcement: this call would have been blocked. */
  replay_advisory_block: { session_id: string; tool_name: string; reason: BlockReason; remedy: string | null }
  /** Advisory enforcement: these tools would have been removed. */
  replay_advisory_narrow: { session_id: string; removed: readonly NarrowedTool[] }
  /** A call could not be evaluated. It was not blocked, because the session does not enforce. */
  replay_judgement_failed: { session_id: string; detail: string }
  /** A Cedar policy failed on a call, which is blocked like one that it denies; reported once for each tool. */
  replay_policy_error: { session_id: string; tool_name: string; contract_file: string | null; detail: string }
  /** A label, a tool filter or a stop was not taken: the server refused it, or this process never held the session. */
  replay_control_refused: { session_id: string; detail: string }
  /** The tenant's quota is used up for now. The call waits and is sent again. */
  replay_throttled: { session_id: string; wait_ms: number; detail: string }
  /** A call has waited long for the previous one, which is probably a stream that is not being read. */
  replay_turn_waiting: { session_id: string; detail: string }
  /** Calls were given up when a newer turn began before they ran; `tools` names the tools. */
  replay_calls_given_up: { session_id: string; tools: readonly string[]; detail: string }
  /** A turn, or `restore()`, has waited long for wrapped tools that have not ended: `tools` names them. */
  replay_tool_waiting: { session_id: string; tools: readonly string[]; detail: string }
  /**
   * A wrapped tool was called with arguments other than the allowed ones: `names` lists which. `ran` is true if a
   * schema explains the difference (a default, a stripped key, a conversion); the tool then got the allowed arguments.
   */
  replay_arguments_differ: {
    session_id: string
    tool_name: string
    names: readonly string[]
    ran: boolean
    detail: string
  }
  /** The lookup of an approved plan is finished; `state` says with which result. */
  governance_attachment: { session_id: string; state: string; detail: string }
  /** A person was asked to approve a call. */
  checkpoint_requested: { session_id: string; checkpoint_id: string; tool_name: string }
  /**
   * A call needs the approval of a person, and there was no way to ask one (`onCheckpoint` is not set): it was denied.
   */
  checkpoint_not_asked: { session_id: string; tool_name: string; detail: string }
  /** A person decided about a call, or the time was up. */
  checkpoint_resolved: { session_id: string; checkpoint_id: string; tool_name: string; decision: string }
  /** people are asked about a call, on the page `url` */
  question_asked: QuestionEvent & { url: string; expires_at: string }
  /** a person answered a question; `state` is `waiting` while more people have to say yes */
  question_answered: QuestionEvent & { state: 'waiting' | 'approved' | 'denied'; have: number; needed: number }
  /** a question was put again, such as after a change of the plan: answers to the one before are void */
  question_changed: QuestionEvent & { expires_at: string }
  /** a question ended without its call: in time, or by what `cause` says */
  question_ended: QuestionEvent & { state: 'expired' | 'withdrawn'; cause: string | null }
  /** too few people can answer what a rule asks: the call was blocked */
  question_unanswerable: { session_id: string; tool_name: string; detail: string }
  /** no person who can answer was reached for five minutes; the question can be answered all the same */
  question_undelivered: QuestionEvent & { url: string }
  /** a rule asks people, which only the service does, and none decides here, or it is away: the call was blocked */
  ask_needs_service: { session_id: string; tool_name: string; detail: string }
  /** A number given to `observe` is above its maximum, which is used instead. */
  option_clamped: { option: string; given: number; used: number }
  /** An option given to `observe` is unknown, or its value cannot be used. */
  option_ignored: { option: string; detail: string }
  /** A callback of the program failed. */
  callback_error: { callback: string; detail: string }
}

interface QuestionEvent {
  session_id: string
  question_id: string
  tool_name: string
}

/** The name of a diagnostic event. */
export type DiagnosticType = keyof DiagnosticEvents
/** One diagnostic event: its `type` and the fields of `DiagnosticEvents[type]`. */
export type Diagnostic = {
  [Type in DiagnosticType]: { readonly type: Type } & Readonly<DiagnosticEvents[Type]>
}[DiagnosticType]
/** What the option `diagnostics` takes. If it throws, nothing else changes. */
export type DiagnosticsCallback = (event: Diagnostic) => void

export type Report = (event: Diagnostic) => void

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Where a name has several addresses, Node gathers what each of them said, under no message of its own.
  if (error.message === '' && error instanceof AggregateError) return error.errors.map(messageOf).join(', ')
  return error.message
}
