import type { Diagnostic } from './diagnostics.js'

/** Per process: more lines do not help a person who ignored these. */
const MOST_LINES = 20
const written = new Set<string>()

/** Warns the person who runs the program, once for each text. */
export function warnOnConsole(text: string): void {
  if (written.has(text) || written.size >= MOST_LINES) return
  written.add(text)
  console.warn(`countersign: ${text}`)
}

/** For tests, which share one process and would silence each other. */
export function forgetWarnings(): void {
  written.clear()
}

/**
 * The warning for an event that is not delivered, because there is no `diagnostics` callback. Null if there is nothing to
 * fix, or if an error says it anyway. The text does not depend on the session or a count, so it is written only once.
 */
export function consoleText(event: Diagnostic): string | null {
  switch (event.type) {
    case 'unsupported_client':
    case 'double_wrap':
      return `observe does nothing: ${event.detail}`
    case 'buffer_overflow':
      return 'observe dropped captures because its buffer was full (option maxBuffer)'
    case 'capture_error':
    case 'replay_protection_level':
    case 'replay_turn_waiting':
    case 'replay_calls_given_up':
    case 'replay_arguments_differ':
    case 'replay_throttled':
    case 'replay_control_refused':
    case 'checkpoint_not_asked':
      return event.detail
    case 'replay_bypass_detected':
      return `${event.method} was called on the original client, which bypasses the session: use session.client`
    case 'replay_compile_warning':
      return event.warnings.join('\n  ')
    case 'replay_provider_warning':
      return `${event.provider}/${event.model ?? '*'} matches the warn_incompatible pattern ${event.pattern}`
    case 'replay_degraded':
      return `the server failed: ${event.detail}`
    case 'replay_judgement_failed':
      return `a call could not be evaluated (nothing is enforced): ${event.detail}`
    case 'governance_attachment':
      return event.state === 'attached' ? null : `no approved plan is in use: ${event.detail}`
    case 'callback_error':
      return `${event.callback} failed: ${event.detail}`
    case 'option_ignored':
      return `option ${event.option} of observe ${event.detail}`
    case 'option_clamped':
      return `option ${event.option} of observe must be at most ${event.used}, not ${event.given}; ${event.used} is used`
    default:
      return null
  }
}
