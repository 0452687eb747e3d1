import type { CaptureLevel } from '@countersign/protocol'
import type { DiagnosticsCallback } from '../base/diagnostics.js'

/** Options of `observe`. */
export interface ObserveOptions {
  /**
   * API key of the tenant. Without one, nothing is observed.
   * @defaultValue `COUNTERSIGN_API_KEY`
   */
  apiKey?: string
  /**
   * Name of the agent.
   * @defaultValue `'default'`
   */
  agent?: string
  /**
   * What is captured.
   * - `metadata`: tool names
   * - `redacted`: tool names and arguments
   * - `full`: everything, including messages and results
   * @defaultValue `'redacted'`
   */
  captureLevel?: CaptureLevel
  /**
   * URL of the server.
   * @defaultValue `COUNTERSIGN_API_URL`, else http://127.0.0.1:4319
   */
  endpoint?: string
  /**
   * How many captures may wait to be sent. From 1 to 1000.
   * @defaultValue `100`
   */
  maxBuffer?: number
  /**
   * Time between two batches of captures. From 1 to 2147483647.
   * @defaultValue `5000`
   */
  flushMs?: number
  /**
   * Time limit for sending a batch. From 1 to 10000.
   * @defaultValue `5000`
   */
  timeoutMs?: number
  /**
   * Observe nothing. `COUNTERSIGN_DISABLE` does the same.
   * @defaultValue `false`
   */
  disabled?: boolean
  /**
   * Called with diagnostic events.
   * @defaultValue warnings on the console
   */
  diagnostics?: DiagnosticsCallback
  /**
   * Sends the captures.
   * @defaultValue Node's HTTP client
   */
  fetch?: typeof fetch
}
