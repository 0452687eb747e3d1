import type { Environment } from '@countersign/protocol'
import { createMemoryPins, type DefinitionPins } from './definition-pins.js'
import { createFilePins } from './file-pins.js'
import { createServicePins } from './service-pins.js'

/** The service that keeps pins. */
export interface PinService {
  readonly apiKey: string
  readonly runtimeUrl: string
  readonly environment: Environment
  readonly fetch: typeof globalThis.fetch | undefined
}

export interface PinPlaces {
  /** Named by the operator; null where it is not. */
  readonly file: string | null
  /** Null where nothing is enforced, or there is no service: it need not be there then. */
  readonly service: PinService | null
}

/** Where the definitions of a server's tools are pinned: in a file, where one is named; else the service keeps them. */
export function choosePins(
  { file, service }: PinPlaces,
  { agent, server }: { readonly agent: string; readonly server: string | null },
): DefinitionPins {
  if (file !== null) return createFilePins(file, { agent, server })
  if (service === null) return createMemoryPins()
  return createServicePins({ ...service, agent, server: server ?? '' })
}
