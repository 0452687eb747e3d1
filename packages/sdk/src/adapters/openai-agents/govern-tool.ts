import { runFrameworkCall } from '../governed-session.js'
import type { FunctionTool, InvokeDetails } from './agents-types.js'
import type { GovernedAgent } from './govern-model.js'

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
  const approvedBy = agent.asked.delete(callId) ? agent.approver : null
  let failure: unknown
  try {
    const run = await runFrameworkCall(agent.session(), {
      callId,
      toolName: tool.name,
      args: input,
      approvedBy,
      run: async (judged, { signal }) => {
        const both = details.signal === undefined ? signal : AbortSignal.any([signal, details.signal])
        const output = await tool.invoke(context, JSON.stringify(judged), { ...details, signal: both })
        if (output !== DEFAULT_ERROR) return output
        failure = output
        throw new ToolFailed(output)
      },
    })
    return run.result
  } catch (error) {
    if (error instanceof ToolFailed) return failure
    throw error
  }
}

/** What a tool of the SDK returns in place of throwing, unless it has an `errorFunction` of its own. */
const DEFAULT_ERROR = 'An error occurred while running the tool. Please try again.'

class ToolFailed extends Error {}
