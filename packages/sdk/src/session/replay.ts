import { createReport } from '../base/create-report.js'
import { ReplayConfigError } from '../base/errors.js'
import type { WrappedTools } from '../calls/invoke.js'
import { detectClient, whyUnknown } from '../clients/clients.js'
import { unwrapClient, type Wrapping, wrapClient } from '../clients/wrapped-clients.js'
import { readEnvironment } from '../options/environment.js'
import type { ReplayOptions, ToolMap } from '../options/replay-options.js'
import { readReplayOptions } from '../options/replay-settings.js'
import { ReplaySession } from './replay-session.js'

/**
 * Starts a governed session on a model client. Throws `ReplayConfigError` if the options or the contracts are wrong. The
 * session is created on the server, or the approved plan is looked up, in the background; the first call waits for it.
 */
export function replay<Client extends object, Tools extends ToolMap>(
  client: Client,
  options: ReplayOptions<Tools> & { tools: Tools },
): ReplaySession<Client, WrappedTools<Tools>>
export function replay<Client extends object>(client: Client, options?: ReplayOptions): ReplaySession<Client>
export function replay<Client extends object>(client: Client, options: ReplayOptions = {}): ReplaySession<Client> {
  const settings = readReplayOptions(options, readEnvironment())
  const kind = detectClient(client)
  if (kind === null) {
    const detail = whyUnknown(client)
    if (settings.diagnostics) createReport(settings.diagnostics)({ type: 'unsupported_client', detail })
    throw new ReplayConfigError(`this client cannot be governed: ${detail}`, 'compilation_failed')
  }
  const holder = wrapClient(client, 'replay')
  if (holder !== null) throw new ReplayConfigError(TAKEN[holder], 'compilation_failed')
  try {
    return new ReplaySession(client, kind, settings)
  } catch (error) {
    unwrapClient(client)
    throw error
  }
}

const TAKEN: Readonly<Record<Wrapping, string>> = {
  observe: 'observe is active on this client: restore it first, or use a separate client',
  replay:
    'another session is attached to this client, or to the one it was derived from: ' +
    'restore that session first, or use a separate client',
  wrapper: 'this is the wrapped client of another session: pass a separate client to replay',
}
