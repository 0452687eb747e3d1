import { ReplayContractError } from '../../base/errors.js'
import type { SessionTurn } from '../../session/session-turn.js'
import { addFrameworkTools, createAgentTurns, type GovernedSession, isTimeUp } from '../governed-session.js'
import { askByInterrupt } from './ask-by-interrupt.js'
import type { Handler, ModelRequest, ModelResult, Tool, ToolRequest, ToolResult } from './langchain-types.js'
import { isRunHere, nameOf, turnAnswer, turnInput } from './neutral-turn.js'

/** How LangChain recognises a middleware: `createMiddleware` sets it, too. */
const BRAND = Symbol.for('AgentMiddleware')

export interface LangChainOptions {
  /**
   * What becomes of an error that a tool throws. `tell`: the model reads it in a tool message, as in an agent without
   * middleware. `throw`: other middleware gets it, such as `toolErrorMiddleware`; without any, the run ends.
   * @defaultValue `'tell'`
   */
  readonly toolErrors?: 'tell' | 'throw'
}

/**
 * Governs an agent of LangChain: `createAgent({ middleware: [countersign(session)] })`. A blocked call does not run, and
 * the model is told why. A call that needs a person interrupts the graph. Put it last, so that what other middleware
 * changes is judged.
 */
export function countersign(session: GovernedSession, { toolErrors = 'tell' }: LangChainOptions = {}) {
  const askInTurn = createAgentTurns(session)
  const known = new Set<string>()
  return {
    [BRAND]: true as const,
    name: 'countersign',
    wrapModelCall: <Request extends object, Result>(
      given: Request,
      handler: Handler<Request, Result>,
    ): Promise<Result> => {
      const request = given as unknown as ModelRequest
      const added = (request.tools ?? [])
        .filter(isRunHere)
        .map(nameOf)
        .filter((name) => !known.has(name))
      if (added.length > 0) addFrameworkTools(session, added)
      for (const name of added) known.add(name)
      return askInTurn(turnInput(request), async (turn) => {
        if (turn.refusal !== null) throw notAsked(turn.refusal)
        const result = await handler(narrowed(request, turn) as unknown as Request)
        await turn.propose(turnAnswer(result as unknown as ModelResult))
        return result
      })
    },
    wrapToolCall: <Request extends object, Result extends object>(
      given: Request,
      handler: Handler<Request, Result>,
    ): Promise<Result> =>
      runTool(
        session,
        given as unknown as ToolRequest,
        handler as unknown as Handler<ToolRequest, ToolResult>,
        toolErrors,
      ) as Promise<Result>,
  }
}

function notAsked({ reason, remedy }: NonNullable<SessionTurn['refusal']>): ReplayContractError {
  const nothing = { outcome: 'blocked' as const, decisions: [], blocked: [] }
  return new ReplayContractError(`the model was not called (${reason}). ${remedy}`, nothing)
}

/** LangChain lets a middleware remove tools, and refuses a changed one. */
function narrowed(request: ModelRequest, { allowed, removed, feedback }: SessionTurn): ModelRequest {
  if (removed.length === 0) return request
  const names = new Set(allowed)
  const tools = (request.tools ?? []).filter((tool) => names.has(nameOf(tool)))
  const forced = forcedTool(request.toolChoice)
  const isGone = tools.length === 0 || (forced !== null && !names.has(forced))
  return {
    ...request,
    tools,
    ...(isGone && { toolChoice: tools.length === 0 ? undefined : 'none' }),
    ...(feedback !== null && { systemPrompt: [request.systemPrompt, feedback].filter(Boolean).join('\n\n') }),
  }
}

function forcedTool(choice: unknown): string | null {
  if (typeof choice === 'object' && choice !== null) {
    const { function: named, name } = choice as { function?: { name?: string }; name?: string }
    return named?.name ?? name ?? null
  }
  return typeof choice === 'string' && !['auto', 'none', 'any', 'required'].includes(choice) ? choice : null
}

async function runTool(
  session: GovernedSession,
  request: ToolRequest,
  handler: Handler<ToolRequest, ToolResult>,
  toolErrors: 'tell' | 'throw',
): Promise<ToolResult> {
  const { toolCall, tool, runtime } = request
  const callId = toolCall.id ?? ''
  if (tool === undefined) {
    if (session.verdictOf(callId)?.verdict === 'allow') await session.settle(callId, { outcome: 'not_executed' })
    return handler(request)
  }
  const approvedBy = await askByInterrupt(
    session,
    { callId, tool: toolCall.name, args: toolCall.args },
    runtime?.interrupt,
  )
  let message: ToolResult | null = null
  let failure: unknown = null
  try {
    const run = await session.invoke({
      callId,
      tool: nameOfRun(request, session.verdictOf(callId)?.toolName),
      args: toolCall.args,
      approvedBy,
      signal: runtime?.signal,
      run: async (judged) => {
        try {
          message = await handler({ ...request, toolCall: { ...toolCall, args: judged } })
        } catch (thrown) {
          failure = thrown
          throw thrown
        }
        return contentOf(message)
      },
    })
    if (!run.ran) return told(request, handler, String(run.result))
  } catch (error) {
    if (error instanceof HandledFailure && message !== null) return message
    const isOfTool = error === failure || isTimeUp(error)
    if (toolErrors === 'throw' || !isOfTool || isForGraph(error) || runtime?.signal?.aborted) throw error
    return told(request, handler, `${error}\n Please fix your mistakes.`)
  }
  return message ?? told(request, handler, 'The tool gave no result.')
}

/** Another middleware may have put another tool, or another name, in place of the judged one: that name, then. */
function nameOfRun({ tool, toolCall }: ToolRequest, judged: string | undefined): string {
  const names = [(tool as Tool | null)?.name ?? toolCall.name, toolCall.name]
  return names.find((name) => name !== judged) ?? toolCall.name
}

/** An interrupt, or a command to a graph above: no failure of the tool. */
const isForGraph = (error: unknown): boolean => (error as { is_bubble_up?: unknown } | null)?.is_bubble_up === true

/** A middleware behind this one has turned what the tool threw into a message. */
class HandledFailure extends Error {}

/** What the tool gave, without the message round it: contracts read values of it. */
function contentOf(result: ToolResult): unknown {
  const { content, status } = result as { content?: unknown; status?: string }
  if (status === 'error') throw new HandledFailure(String(content))
  if (typeof content !== 'string') return content ?? null
  try {
    return JSON.parse(content) as unknown
  } catch {
    return content
  }
}

/** A tool message that says why the tool did not run: LangChain makes it of what a tool in its place returns. */
async function told(
  request: ToolRequest,
  handler: Handler<ToolRequest, ToolResult>,
  text: string,
): Promise<ToolResult> {
  const standIn = { name: request.toolCall.name, invoke: async () => text }
  const message = await handler({ ...request, tool: standIn })
  return Object.assign(message, { status: 'error' })
}
