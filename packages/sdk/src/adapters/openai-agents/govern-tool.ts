import { isTimeUp } from '../governed-session.js'
import type { FunctionTool, InvokeDetails } from './agents-types.js'
import type { GovernedAgent } from './govern-model.js'
import { requireTelling, watchInvocation } from './watch-invocation.js'

/** A function tool that runs only for an allowed call and leaves a receipt. */
export function governTool(tool: FunctionTool, agent: GovernedAgent): FunctionTool {
  return Object.create(Object.getPrototypeOf(tool), {
    ...Object.getOwnPropertyDescriptors(tool),
    invoke: {
      enumerable: true,
      value: (context: unknown, input: string, details: InvokeDetails = {}) =>
        invoke(tool, agent, { context, input, details }),
    },
    needsApproval: {
      enumerable: true,
      value: async (context: unknown, input: unknown, callId?: string) => {
        if (callId !== undefined && (await asksPerson(agent, { callId, tool: tool.name, args: input }))) return true
        return (await tool.needsApproval?.(context, input, callId)) ?? false
      },
    },
  })
}

/** Whether the runner has to wait for a person's decision about a call, here or in another process. */
async function asksPerson(
  agent: GovernedAgent,
  call: { readonly callId: string; readonly tool: string; readonly args: unknown },
): Promise<boolean> {
  const { callId, tool } = call
  const session = agent.session()
  const verdict = session.verdictOf(callId)
  if (verdict?.verdict === 'ask') agent.asked.add(callId)
  if (verdict !== null) return verdict.verdict === 'ask'
  // What people are asked, the service decides when the call is run.
  if ((await session.questionOf(callId, tool)) !== null) return false
  // It is proposed again when it was approved: until then, it would keep the other calls waiting.
  return (await session.proposeAgain({ ...call, onlyLooks: true }))?.verdict === 'ask'
}

/** Whether a person has approved a call, as the state of the run says. */
function isApproved(context: unknown, call: { readonly toolName: string; readonly callId: string }): boolean {
  const { isToolApproved } = (context ?? {}) as Partial<RunContextLike>
  return typeof isToolApproved === 'function' && isToolApproved.call(context, call) === true
}

interface RunContextLike {
  isToolApproved(call: { readonly toolName: string; readonly callId: string }): boolean | undefined
}

interface Invocation {
  readonly context: unknown
  readonly input: string
  readonly details: InvokeDetails
}

async function invoke(
  tool: FunctionTool,
  agent: GovernedAgent,
  { context, input, details }: Invocation,
): Promise<unknown> {
  const callId = details.toolCall?.callId ?? ''
  if (callId !== '') requireTelling(tool, details)
  const isAskedHere = agent.asked.delete(callId)
  // With `alwaysApprove` that state also approves calls that are judged here, about which no person was asked.
  const isOfAnother = agent.session().verdictOf(callId) === null
  const isDecided = isAskedHere || (isOfAnother && isApproved(context, { toolName: tool.name, callId }))
  const approvedBy = isDecided ? agent.approver : null
  let thrown: unknown
  try {
    const run = await agent.session().invoke({
      callId,
      tool: tool.name,
      args: input,
      approvedBy,
      signal: details.signal,
      run: async (judged, { signal }) => {
        const both = details.signal === undefined ? signal : AbortSignal.any([signal, details.signal])
        const watched = watchInvocation(tool, details, both)
        try {
          const output = await tool.invoke(context, JSON.stringify(judged), watched.details)
          if (watched.succeeded(output)) return output
          throw new ToolFailed(output)
        } catch (error) {
          thrown = error
          throw error
        }
      },
    })
    return run.result
  } catch (error) {
    if (error instanceof ToolFailed) return error.output
    // As the SDK does where the tool's own time is up.
    if (error !== thrown && isTimeUp(error) && tool.timeoutBehavior !== 'raise_exception') return error.message
    throw error
  }
}

/** The SDK has turned what the tool threw into a result. */
class ToolFailed extends Error {
  constructor(readonly output: unknown) {
    super(String(output))
  }
}
