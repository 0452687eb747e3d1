import type { Diagnostic } from './diagnostics.js'

/** So many lines in one process: whoever reads none of them is not helped by more. */
const MOST_LINES = 20
const told = new Set<string>()

/** Tells the person who runs a program, each thing once. */
export function warnOnConsole(text: string): void {
  if (told.has(text) || told.size >= MOST_LINES) return
  told.add(text)
  console.warn(`countersign: ${text}`)
}

/** For tests, which share one process and would silence each other. */
export function forgetWarnings(): void {
  told.clear()
}

/**
 * What a program without a `diagnostics` callback would never hear of. Null where there is nothing to mend, or where an
 * error tells it anyway. The same trouble has the same text, whatever session or count it comes with.
 */
export function consoleText(event: Diagnostic): string | null {
  switch (event.type) {
    case 'unsupported_client':
    case 'double_wrap':
      return `observe does nothing: ${event.detail}`
    case 'buffer_overflow':
      return 'observe left captures out: its buffer was full (option maxBuffer)'
    case 'capture_error':
    case 'replay_protection_level':
    case 'replay_turn_waiting':
    case 'replay_throttled':
    case 'replay_control_refused':
      return event.detail
    case 'replay_bypass_detected':
      return `${event.method} was called on the original client, past its session: call session.client`
    case 'replay_compile_warning':
      return event.warnings.join('\n  ')
    case 'replay_provider_warning':
      return `${event.provider}/${event.model ?? '*'} matches ${event.pattern} of warn_incompatible`
    case 'replay_degraded':
      return `the service failed: ${event.detail}`
    case 'replay_judgement_failed':
      return `a call could not be judged, and nothing is enforced: ${event.detail}`
    case 'governance_attachment':
      return event.state === 'attached' ? null : `no plan is in force: ${event.detail}`
    case 'callback_error':
      return `${event.callback} failed: ${event.detail}`
    case 'option_ignored':
      return `option ${event.option} of observe ${event.detail}`
    case 'option_clamped':
      return `option ${event.option} of observe is at most ${event.used}, which is used instead of ${event.given}`
    default:
      return null
  }
}
