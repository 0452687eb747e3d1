import { suggestName } from '@countersign/engine'
import type { HandoffView, WorkflowView } from '@countersign/protocol'
import { createTransport, ServiceRefusal, type Transport } from '../authority/transport.js'
import { ReplayConfigError } from '../base/errors.js'
import { exchangeBy } from '../base/exchange.js'
import { addressProblem, DEFAULT_BASE_URL, readEnvironment } from '../options/environment.js'
import { OPTIONS } from '../options/option-table.js'
import { POLL_MS, pollUntil, translated } from './workflow-polling.js'

/** Options of `waitForOffer`. */
export interface OfferWait {
  /** Id of the workflow. It need not be open yet. */
  readonly workflowId: string
  /** The role that the offer must be for. */
  readonly role: string
  /** How long to wait. */
  readonly timeoutMs: number
  /**
   * Time between two requests to the server.
   * @defaultValue `1000`
   */
  readonly pollMs?: number
  /**
   * API key of the tenant.
   * @defaultValue `COUNTERSIGN_API_KEY`
   */
  readonly apiKey?: string
  /**
   * URL of the server.
   * @defaultValue `COUNTERSIGN_API_URL`, else http://127.0.0.1:4319
   */
  readonly runtimeUrl?: string
  /**
   * Sends the requests to the server.
   * @defaultValue Node's HTTP client
   */
  readonly fetch?: typeof globalThis.fetch
  /** Stops waiting. */
  readonly signal?: AbortSignal
}

/**
 * Waits for a handoff that is offered to a role of a workflow, and resolves to the oldest one; null if none came in
 * time. To accept it, start a session with its id: if two sessions try, one of them wins.
 */
export async function waitForOffer(wait: OfferWait): Promise<HandoffView | null> {
  const transport = transportOf(wait)
  const look = () => findOffer(transport, wait)
  const { timeoutMs, pollMs = POLL_MS, signal } = wait
  return pollUntil(look, { timeoutMs, pollMs, ...(signal && { signal }) })
}

function transportOf({ apiKey, runtimeUrl, fetch }: OfferWait): Transport {
  const env = readEnvironment()
  const key = apiKey?.trim() || env.apiKey
  if (key === null)
    throw new ReplayConfigError('waitForOffer needs an API key: pass apiKey or set COUNTERSIGN_API_KEY', null)
  const baseUrl = runtimeUrl ?? env.apiUrl ?? DEFAULT_BASE_URL
  const problem = addressProblem(baseUrl)
  if (problem !== null) throw new ReplayConfigError(`runtimeUrl (or COUNTERSIGN_API_URL) ${problem}`, null)
  return createTransport({
    baseUrl,
    apiKey: key,
    timeoutMs: OPTIONS.replay.timeoutMs.default,
    exchange: exchangeBy(fetch),
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
  if (view === null) return null
  if (!Object.hasOwn(view.definition.roles, role)) {
    const fix = suggestName(role, Object.keys(view.definition.roles))
    throw new ReplayConfigError(`the workflow ${workflowId} has no role ${JSON.stringify(role)}: ${fix}`, null)
  }
  // The offer of a stopped session cannot be taken, though it stands there until it expires.
  const stopped = new Set(view.sessions.filter(isStopped).map(({ session_id }) => session_id))
  const isOpen = ({ state, to_role, from_session }: HandoffView) =>
    state === 'offered' && to_role === role && !stopped.has(from_session)
  return view.handoffs.find(isOpen) ?? null
}

const isStopped = ({ status }: WorkflowView['sessions'][number]): boolean =>
  status === 'KILLED' || status === 'COMPROMISED'
