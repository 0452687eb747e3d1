import type { HandoffView } from '@countersign/protocol'
import { ReplayConfigError } from './errors.js'
import { DEFAULT_BASE_URL, readEnvironment } from './options.js'
import { createTransport, ServiceRefusal, type Transport } from './transport.js'
import { POLL_MS, pollUntil, translated } from './workflow-polling.js'

export interface OfferWait {
  readonly workflowId: string
  readonly role: string
  /** Gives up after this long. */
  readonly timeoutMs: number
  /** Between two looks. */
  readonly pollMs?: number
  readonly apiKey?: string
  readonly runtimeUrl?: string
  readonly fetch?: typeof globalThis.fetch
  /** Gives up at once. */
  readonly signal?: AbortSignal
}

/**
 * Waits for an offer to a role of a workflow, which need not be open yet, and resolves to the oldest. Null when none
 * came in time. The offer is taken by starting a session with its id: of two that try, one wins.
 */
export async function waitForOffer(wait: OfferWait): Promise<HandoffView | null> {
  const transport = transportOf(wait)
  const look = () => findOffer(transport, wait)
  const { timeoutMs, pollMs = POLL_MS, signal } = wait
  return pollUntil(look, { timeoutMs, pollMs, ...(signal && { signal }) })
}

function transportOf({ apiKey, runtimeUrl, fetch }: OfferWait): Transport {
  const env = readEnvironment()
  const key = apiKey ?? env.apiKey
  if (key === null) throw new ReplayConfigError('waiting for an offer needs an apiKey', null)
  return createTransport({
    baseUrl: runtimeUrl ?? env.apiUrl ?? DEFAULT_BASE_URL,
    apiKey: key,
    timeoutMs: 10_000,
    fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
  })
}

async function findOffer(transport: Transport, { workflowId, role }: OfferWait): Promise<HandoffView | null> {
  const view = await transport.call('loadWorkflow', { params: { workflow_id: workflowId } }).catch((error: unknown) => {
    if (error instanceof ServiceRefusal && error.code === 'NOT_FOUND') return null
    return translated(error)
  })
  if (view?.status === 'KILLED') {
    throw new ReplayConfigError(`the workflow ${workflowId} was killed: no offer will come`, null)
  }
  return view?.handoffs.find(({ state, to_role }) => state === 'offered' && to_role === role) ?? null
}
