import type { DiagnosticsCallback, Report } from './diagnostics.js'
import { consoleText, warnOnConsole } from './warn-on-console.js'

/**
 * Sends events to the callback. A callback that throws must not change what happens to a call. Without a callback,
 * events that need attention are written to the console, once each.
 */
export function createReport(callback: DiagnosticsCallback | undefined): Report {
  return (event) => {
    try {
      if (typeof callback === 'function') {
        callback(event)
        return
      }
      const text = consoleText(event)
      if (text !== null) warnOnConsole(text)
    } catch {
      // There is nowhere left to report it.
    }
  }
}
