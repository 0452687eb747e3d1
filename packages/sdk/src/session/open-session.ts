import type { WrappedTools } from '../calls/invoke.js'
import { readEnvironment } from '../options/environment.js'
import type { ReplayOptions, ToolMap } from '../options/replay-options.js'
import { readSessionOptions } from '../options/replay-settings.js'
import { createSessionContext } from './core/session-context.js'
import { Session } from './session.js'

/**
 * Starts a governed session that knows no model client: the program, or an adapter, prepares each model call, proposes
 * its answer and runs the calls. Takes the options of `replay`; the gate is `answer` by default. Throws
 * `ReplayConfigError` if the options or the contracts are wrong. The session is created on the server, or the approved
 * plan is looked up, in the background; the first turn waits for it.
 */
export function openSession<Tools extends ToolMap>(
  options: ReplayOptions<Tools> & { tools: Tools },
): Session<WrappedTools<Tools>>
export function openSession(options?: ReplayOptions): Session
export function openSession(options: ReplayOptions = {}): Session {
  return new Session(createSessionContext(readSessionOptions(options, readEnvironment()), null))
}
