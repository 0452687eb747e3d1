import { readEnvironment } from '../options/environment.js'
import type { ReplayOptions } from '../options/replay-options.js'
import { readSessionOptions } from '../options/replay-settings.js'
import { createSessionContext } from './core/session-context.js'
import { Session } from './session.js'

/** The name under which all gateways of a tenant hold their sessions. */
const GATEWAY_HOLDER = 'hld_gateway'

/**
 * Opens a session for a gateway, which runs no tools: several processes may continue it in turn, each from what the
 * server knows. Outcomes of calls are read from the conversation. Closing it here leaves its calls open for the others.
 */
export function openSharedSession(
  options: ReplayOptions & { agent: string },
  onAnswer: (ids: readonly string[]) => void = () => {},
): Session {
  const settings = readSessionOptions(options, readEnvironment())
  return new Session(createSessionContext({ ...settings, shared: { holderId: GATEWAY_HOLDER, onAnswer } }, null))
}
