import type { DiagnosticsCallback, Report } from './diagnostics.js'
import { consoleText, warnOnConsole } from './warn-on-console.js'

/**
 * A callback that throws must not change what happens to a call. Without one, what a person has to mend is written to
 * the console, once.
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
      // There is nobody left to tell.
    }
  }
}
