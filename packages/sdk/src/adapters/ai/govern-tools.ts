import { isDeepStrictEqual } from 'node:util'
import type { ToolRun } from '../../calls/invoke.js'
import type { GovernedSession } from '../governed-session.js'
import type { AiTool, AiTools, ExecuteOptions } from './ai-types.js'
import type { AgentCalls } from './judge-parts.js'

/** The tools of an agent, each running only for an allowed call and leaving a receipt. */
export function governTools<Tools extends AiTools>(tools: Tools, agent: AgentCalls): Tools {
  const entries = Object.entries(tools).map(([name, tool]) => [name, governTool(name, tool as AiTool, agent)])
  return Object.fromEntries(entries) as Tools
}

function governTool(name: string, tool: AiTool, agent: AgentCalls): AiTool {
  if (typeof tool.execute !== 'function') return tool
  /** The calls about which the SDK was told to ask a person: it runs one of them only after an approval. */
  const asked = new Set<string>()
  const execute = (input: unknown, options: ExecuteOptions, onPart?: (part: unknown) => void) => {
    const { toolCallId } = options
    agent.waiting.delete(toolCallId)
    const approvedBy = asked.delete(toolCallId) ? agent.approver : null
    const run = async (judged: unknown, context: { readonly signal: AbortSignal }): Promise<unknown> => {
      const given = isDeepStrictEqual(input, judged) ? input : await parsed(tool.inputSchema, judged)
      const output = tool.execute?.(given, withSignal(options, context))
      return isIterable(output) ? lastOf(output, onPart) : output
    }
    const { abortSignal: signal } = options
    const call = { callId: toolCallId, tool: name, args: input, run, approvedBy, signal }
    return answerOf(agent.session.invoke(call))
  }
  return {
    ...tool,
    execute: isGenerator(tool.execute)
      ? (input, options) => partsOf((onPart) => execute(input, options, onPart))
      : (input, options) => execute(input, options),
    needsApproval: async (input, options) => {
      const { toolCallId } = options
      const { session } = agent
      // The SDK asks again before it runs an approved call, here perhaps one of another process.
      const isKnown = session.verdictOf(toolCallId) !== null
      const isAsked = isKnown || (await wasAsked(agent, { callId: toolCallId, tool: name, args: input }))
      const verdict = session.verdictOf(toolCallId)
      if (verdict?.verdict === 'ask' && verdict.asks === 'program') asked.add(toolCallId)
      if (verdict?.verdict === 'ask' || (!isKnown && isAsked)) return true
      const { needsApproval = false } = tool
      return typeof needsApproval === 'function' ? needsApproval(input, options) : needsApproval
    },
  }
}

/** Whether a person was asked about a call of another process: by the service, or by the program, as a verdict then says. */
async function wasAsked(
  { session }: AgentCalls,
  call: Parameters<GovernedSession['proposeAgain']>[0],
): Promise<boolean> {
  if ((await session.questionOf(call.callId, call.tool)) !== null) return true
  return (await session.proposeAgain(call))?.verdict === 'ask'
}

/** The tool's signal is the session's and the SDK's in one, made for those that look at it. */
const withSignal = (options: ExecuteOptions, context: { readonly signal: AbortSignal }): ExecuteOptions => ({
  ...options,
  get abortSignal() {
    const { signal } = context
    return options.abortSignal === undefined ? signal : AbortSignal.any([signal, options.abortSignal])
  },
})

/** The SDK tells the model the message of what a tool throws, as the tool's error. */
async function answerOf(running: Promise<ToolRun>): Promise<unknown> {
  const run = await running
  if (run.ran) return run.result
  throw new Error(String(run.result))
}

/** What the tool's own schema makes of the judged arguments: the SDK's input may have been changed on its way. */
async function parsed(schema: unknown, judged: unknown): Promise<unknown> {
  const standard = (schema as StandardSchema | undefined)?.['~standard']
  if (standard === undefined) return judged
  const result = await standard.validate(judged)
  if (result.issues !== undefined) throw new Error('the arguments do not fit the schema of the tool')
  return result.value
}

interface StandardSchema {
  readonly '~standard'?: {
    validate(value: unknown): Validated | PromiseLike<Validated>
  }
}

interface Validated {
  readonly value?: unknown
  readonly issues?: readonly unknown[]
}

const isIterable = (output: unknown): output is AsyncIterable<unknown> =>
  typeof output === 'object' && output !== null && Symbol.asyncIterator in output

const isGenerator = (execute: unknown): boolean =>
  Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]'

/** The last part is the tool's result; the SDK shows the parts before it meanwhile. */
async function lastOf(parts: AsyncIterable<unknown>, onPart?: (part: unknown) => void): Promise<unknown> {
  let last: unknown
  for await (const part of parts) {
    last = part
    onPart?.(part)
  }
  return last
}

/** The parts of a run while it goes on. */
async function* partsOf(run: (onPart: (part: unknown) => void) => Promise<unknown>): AsyncGenerator<unknown> {
  const parts: unknown[] = []
  let wake = (): void => {}
  let over = false
  const running = run((part) => {
    parts.push(part)
    wake()
  }).finally(() => {
    over = true
    wake()
  })
  while (!over || parts.length > 0) {
    if (parts.length > 0) yield parts.shift()
    else
      await new Promise<void>((resolve) => {
        wake = resolve
      })
  }
  await running
}
