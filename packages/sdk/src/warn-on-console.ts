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
      return event.detail
    case 'option_ignored':
      return `option ${event.option} of observe ${event.detail}`
    case 'option_clamped':
      return `option ${event.option} of observe is at most ${event.used}, which is used instead of ${event.given}`
    default:
      return null
  }
}
