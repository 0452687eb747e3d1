import { type BypassWatch, createBypassWatch } from '../clients/bypass.js'
import type { ClientKind } from '../clients/clients.js'
import { governClient } from '../clients/govern-client.js'
import { unwrapClient } from '../clients/wrapped-clients.js'
import type { ReplaySettings } from '../options/replay-settings.js'
import { governorOf } from '../turn/run-turn.js'
import { createSessionContext } from './core/session-context.js'
import { Session, type SomeTools } from './session.js'

/** A governed session: make model calls through `client` and run tools through `tools`. */
export class ReplaySession<Client extends object, Tools = SomeTools> extends Session<Tools> {
  /** The governed client. Make every model call through it. */
  readonly client: Client
  /** Null once the session has let go of the client. */
  #original: Client | null
  readonly #bypass: BypassWatch

  constructor(client: Client, kind: ClientKind, settings: ReplaySettings) {
    const context = createSessionContext(settings, kind.name)
    super(context)
    this.#original = client
    this.#bypass = createBypassWatch(kind, context.bypass)
    this.client = governClient(client, kind, { ...governorOf(context), send: this.#bypass.unseen })
    this.#bypass.watch(client)
  }

  /** Ends the session and releases the client. Later calls through `session.client` are refused. */
  override async close(): Promise<void> {
    const closed = super.close()
    if (this.#original !== null) {
      this.#bypass.stop()
      unwrapClient(this.#original)
      this.#original = null
    }
    await closed
  }
}
