import type { SessionTurn } from '../../session/session-turn.js'
import type { AskInTurn, GovernedSession } from '../governed-session.js'
import type { Item, ModelLike, ModelRequest, ModelResponse, StreamEvent } from './agents-types.js'
import { answeredIds, neutralCall, turnAnswer, turnInput } from './neutral-turn.js'

/** One agent of a run, and what it shares with its model and tools. */
export interface GovernedAgent {
  /** Of the agent; another one from the moment that work is handed to it. */
  session(): GovernedSession
  askInTurn: AskInTurn
  /** Whether a call of this name runs through a governed tool, which says why a blocked one does not run. */
  runs(toolName: string): boolean
  /** Handoffs are judged like tools; otherwise the workflow judges them. */
  readonly judgesHandoffs: boolean
  /** Calls about which the runner was told to ask a person. */
  readonly asked: Set<string>
  readonly approver: string
}

/** A model that is offered the allowed tools only, and whose answers are judged before the runner sees their calls. */
export function governModel(name: string, model: () => PromiseLike<ModelLike>, agent: GovernedAgent): ModelLike {
  const input = (request: ModelRequest) => turnInput(request, name, agent.judgesHandoffs)
  return {
    async getResponse(request) {
      await resolveDenied(agent, request)
      return agent.askInTurn(input(request), async (turn) => {
        if (turn.refusal !== null) return { usage: NO_USAGE, output: [said(turn.refusal.remedy)] }
        const response = await (await model()).getResponse(narrowed(request, turn, agent))
        return judged(turn, response, request, agent)
      })
    },
    async *getStreamedResponse(request) {
      await resolveDenied(agent, request)
      // The runner reads the events until the end, or gives the turn up.
      const events = await agent.askInTurn(input(request), async (turn) =>
        turn.refusal === null
          ? judgedEvents(turn, (await model()).getStreamedResponse(narrowed(request, turn, agent)), request, agent)
          : saidEvents(turn.refusal.remedy),
      )
      yield* events
    },
    getRetryAdvice: async (given) => (await model()).getRetryAdvice?.(given),
  }
}

/** The runner answers a call that a person rejected without running it. */
async function resolveDenied({ session, asked, approver }: GovernedAgent, request: ModelRequest): Promise<void> {
  if (asked.size === 0) return
  const answered = answeredIds(request)
  for (const id of [...asked].filter((one) => answered.has(one))) {
    asked.delete(id)
    const verdict = session().verdictOf(id)
    if (verdict?.verdict !== 'ask') continue
    // The program does not want a call that people are asked about.
    if (verdict.asks === 'people')
      await session()
        .withdraw(verdict.id)
        .catch(() => {})
    else await session().answer(verdict.id, { decision: 'deny', decided_by: approver })
  }
}

function narrowed(
  request: ModelRequest,
  { allowed, removed, feedback }: SessionTurn,
  agent: GovernedAgent,
): ModelRequest {
  if (removed.length === 0) return request
  const names = new Set(allowed)
  const { toolChoice } = request.modelSettings
  const isForced = toolChoice !== undefined && removed.some(({ tool }) => tool === toolChoice)
  return {
    ...request,
    tools: request.tools.filter(({ name }) => names.has(name)),
    ...(agent.judgesHandoffs && { handoffs: request.handoffs.filter(({ toolName }) => names.has(toolName)) }),
    ...(isForced && { modelSettings: { ...request.modelSettings, toolChoice: 'none' } }),
    ...(feedback !== null && {
      systemInstructions: [request.systemInstructions, feedback].filter(Boolean).join('\n\n'),
    }),
  }
}

/** A blocked call of a governed tool stays, since its run gives the remedy; of any other call only the remedy stays. */
async function judged<Response extends ModelResponse>(
  turn: SessionTurn,
  response: Response,
  { handoffs }: ModelRequest,
  agent: GovernedAgent,
): Promise<Response> {
  const transfers = new Set(handoffs.map(({ toolName }) => toolName))
  const judges = (name: string) => agent.judgesHandoffs || !transfers.has(name)
  const verdicts = await turn.propose(turnAnswer(response, judges))
  const dropped = new Map<string, string>()
  for (const verdict of verdicts) {
    const { callId, toolName } = verdict
    if (verdict.verdict === 'allow' || agent.runs(toolName)) continue
    dropped.set(
      callId,
      verdict.verdict === 'block' || verdict.asks === 'people'
        ? verdict.result
        : `${toolName} needs the approval of a person, who cannot be asked here.`,
    )
  }
  if (dropped.size === 0) return response
  const output = response.output.map((item) => {
    const remedy = neutralCall(item) === null ? undefined : dropped.get(item.callId ?? '')
    return remedy === undefined ? item : said(remedy)
  })
  return { ...response, output }
}

/** Text flows; from the first sign of a call on everything waits until all calls are judged. */
async function* judgedEvents(
  turn: SessionTurn,
  events: AsyncIterable<StreamEvent>,
  request: ModelRequest,
  agent: GovernedAgent,
): AsyncGenerator<StreamEvent> {
  const held: StreamEvent[] = []
  try {
    for await (const event of events) {
      if (event.type === 'response_done' && event.response !== undefined) {
        const response = await judged(turn, event.response, request, agent)
        yield* held.splice(0)
        yield { ...event, response }
      } else if (held.length > 0 || showsCall(event)) held.push(event)
      else yield event
    }
  } finally {
    // Does nothing after a proposal.
    await turn.abandon()
  }
}

/** Events of the provider pass the runner as they came. */
const showsCall = ({ type, event }: StreamEvent): boolean =>
  type === 'model' &&
  /"(?:tool_calls|function_call|[a-z_]+_call)"|[a-z]_call_arguments/.test(JSON.stringify(event) ?? '')

const said = (text: string): Item => ({
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text }],
})

const NO_USAGE = { requests: 0, inputTokens: 0, outputTokens: 0, totalTokens: 0 }

async function* saidEvents(text: string): AsyncGenerator<StreamEvent> {
  const response = { id: 'countersign', usage: NO_USAGE, output: [said(text)] }
  yield { type: 'response_started' }
  yield { type: 'response_done', response }
}
