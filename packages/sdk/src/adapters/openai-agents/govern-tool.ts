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
        if (callId !== undefined && agent.session().verdictOf(callId)?.verdict === 'ask') {
          agent.asked.add(callId)
          return true
        }
        return (await tool.needsApproval?.(context, input, callId)) ?? false
      },
    },
  })
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
  const approvedBy = agent.asked.delete(callId) ? agent.approver : null
  let thrown: unknown
  try {
    const run = await agent.session().invoke({
      callId,
      tool: tool.name,
      args: input,
      approvedBy,
      approver: agent.approver,
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
