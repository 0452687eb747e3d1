import type { BlockReason } from '@countersign/protocol'
import type { PreparedTurn } from '../authority/authority.js'
import { isInsideTool } from '../authority/running-tools.js'
import { ReplayConfigError, ReplayContractError } from '../base/errors.js'
import type { JsonObject } from '../base/json-object.js'
import type { OpenRequest } from '../clients/conversations.js'
import type { Provider, RequestView, SaidInstead } from '../providers/provider.js'
import type { SessionContext } from '../session/core/session-context.js'
import type { Stance } from '../session/core/session-rules.js'
import { createTrace, type Trace } from '../session/core/trace.js'

/** A request on its way through a turn: one attempt to ask the model. */
export interface Asked {
  readonly provider: Provider
  /** As the program made it. */
  readonly request: JsonObject
  readonly view: RequestView
  readonly trace: Trace
  /** Null where no rule asks what came from where. */
  opened: OpenRequest | null
  /** Null until preflight, and where nothing is judged. */
  prepared: PreparedTurn | null
  /** What the verdict on its answer does. */
  stance: Stance
  /** What the model gets. */
  sent: JsonObject
  /** Said in place of an answer of the model, which is not asked; null where it is. */
  said: (SaidInstead & { readonly reason: BlockReason }) | null
  sentAtMs: number
  /** Whose arguments run: those that are judged, or the model's own. */
  readonly runs: 'judged' | 'own'
}

export function readRequest(provider: Provider, request: JsonObject, runs: Asked['runs']): Asked {
  return {
    provider,
    request,
    view: provider.readRequest(request),
    trace: createTrace(),
    opened: null,
    prepared: null,
    stance: 'log',
    sent: request,
    said: null,
    sentAtMs: performance.now(),
    runs,
  }
}

/** Takes in what the request brings that is new to its conversation. */
export function openConversation(session: SessionContext, asked: Asked): void {
  const { provider, request, view, trace } = asked
  session.notes.traced(trace)
  const { governed, loaded } = session.rules()
  // Flows are needed for captures, for the server, and for contracts with `sources`.
  if (!governed && !loaded.readsSources && !session.captures.isActive()) return
  const { previousResponseId } = view
  asked.opened = session.conversations.open({ messages: provider.readMessages(request), previousResponseId })
}

/** Throws for a request that must not be sent under this session, whatever it asks for. */
export function refuseUngovernable(session: SessionContext, { provider, view }: Asked): void {
  if (view.tools.length > 0 && isInsideTool(session.calls)) throw nested()
  session.rules().checkProvider(provider.name, view.model)
  const { refusals } = view
  if (refusals.length > 0) throw new ReplayConfigError(`the request cannot be governed: ${refusals.join('; ')}`, null)
}

/** A tool waits for the turn, and the turn would wait for the tool. */
const nested = (): ReplayContractError =>
  new ReplayContractError(
    'a wrapped tool made a model call with tools in its own session, and each would wait for the other: ' +
      'run a sub-agent under a session of its own (session.delegate opens it as a handoff), or omit the tools',
    { outcome: 'blocked', decisions: [], blocked: [] },
  )
