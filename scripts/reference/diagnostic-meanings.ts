import type { DiagnosticType } from '@countersign/sdk'

/** When each diagnostic event is sent. `npm run docs` copies the sentences into the interface `DiagnosticEvents`. */
export const DIAGNOSTIC_MEANINGS: Readonly<Record<DiagnosticType, string>> = {
  replay_bypass_detected:
    'The original client was called directly. That call was not stopped; the session is now compromised.',
  replay_provider_warning: 'Provider and model match a `warn_incompatible` pattern.',
  double_wrap: 'The client is already wrapped, so `observe` does nothing.',
  unsupported_client: 'The client is not one that the SDK supports.',
  buffer_overflow: 'Captures were dropped because the buffer was full.',
  replay_compile_error: 'The contracts do not compile.',
  replay_compile_warning: 'The contracts compile, with warnings.',
  capture_error: 'Captures could not be made or sent.',
  replay_killed: 'The session was killed; `cause` says why.',
  replay_degraded:
    'The server failed. `detail` says whether calls are now blocked or decided locally, and from which state.',
  replay_recovered: 'The server responds and decides again.',
  replay_protection_level: 'The session protects less than the program may expect; `detail` says why.',
  replay_advisory_block: 'Advisory enforcement: this call would have been blocked.',
  replay_advisory_narrow: 'Advisory enforcement: these tools would have been removed.',
  replay_judgement_failed: 'A call could not be evaluated. It was not blocked, because the session does not enforce.',
  replay_policy_error:
    'A Cedar policy failed on a call, which is blocked like one that it denies; reported once for each tool.',
  replay_control_refused:
    'A label, a tool filter or a stop was not taken: the server refused it, or this process never held the session.',
  replay_throttled: "The tenant's quota is used up for now. The call waits and is sent again.",
  replay_turn_waiting:
    'A call has waited long for the previous one, which is probably a stream that is not being read.',
  replay_calls_given_up: 'Calls were given up when a newer turn began before they ran; `tools` names the tools.',
  replay_tool_waiting:
    'A turn, or `restore()`, has waited long for wrapped tools that have not ended: `tools` names them.',
  replay_arguments_differ:
    'A wrapped tool was called with arguments other than the allowed ones: `names` lists which. `ran` is true if a schema explains the difference (a default, a stripped key, a conversion); the tool then got the allowed arguments.',
  governance_attachment: 'The lookup of an approved plan is finished; `state` says with which result.',
  checkpoint_requested: 'A person was asked to approve a call.',
  checkpoint_not_asked:
    'A call needs the approval of a person, and there was no way to ask one (`onCheckpoint` is not set): it was denied.',
  checkpoint_resolved: 'A person decided about a call, or the time was up.',
  question_asked: 'people are asked about a call, on the page `url`',
  question_answered: 'a person answered a question; `state` is `waiting` while more people have to say yes',
  question_changed: 'a question was put again, such as after a change of the plan: answers to the one before are void',
  question_ended: 'a question ended without its call: in time, or by what `cause` says',
  question_unanswerable: 'too few people can answer what a rule asks: the call was blocked',
  question_undelivered:
    'no person who can answer was reached for five minutes; the question can be answered all the same',
  ask_needs_service:
    'a rule asks people, which only the service does, and none decides here, or it is away: the call was blocked',
  option_clamped: 'A number given to `observe` is above its maximum, which is used instead.',
  option_ignored: 'An option given to `observe` is unknown, or its value cannot be used.',
  callback_error: 'A callback of the program failed.',
}
