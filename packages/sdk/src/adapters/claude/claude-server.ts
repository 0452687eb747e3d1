import { isDeepStrictEqual } from 'node:util'
import { addFrameworkTools, type GovernedSession } from '../governed-session.js'
import { canonicalName } from './canonical-name.js'
import { contentOf, ToolFailed, type ToolResult } from './tool-result.js'

/** A tool as `tool()` of the Claude Agent SDK makes it. */
export interface ServerTool {
  /** The name, without that of its server. */
  readonly name: string
  /** The schemas of the arguments, by name. */
  readonly inputSchema?: object
  /** Runs the tool. */
  handler(args: never, extra: unknown): Promise<object>
}

/** What `createSdkMcpServer` takes. */
export interface ToolServer {
  /** The name that the server has in the option `mcpServers`. */
  readonly name: string
  /** The tools of the server. */
  readonly tools?: readonly ServerTool[]
}

export interface ClaudeServerOptions {
  /**
   * Who answers the runtime's permission prompts, for the record.
   * @defaultValue `'user'`
   */
  readonly approver?: string
  /**
   * The name under which contracts know a tool: the same as `claudeHooks` was given.
   * @defaultValue the runtime's name; `mcp__server__tool` becomes `server__tool`
   */
  readonly toolName?: (runtimeName: string) => string
}

/**
 * Governs tools of the program itself, beside `claudeHooks`: `createSdkMcpServer(claudeServer(session, { name, tools }))`.
 * Each runs only for a call that was allowed, with the judged arguments and within the time of its contract, and leaves
 * a receipt that proves it.
 */
export function claudeServer<Server extends ToolServer>(
  session: GovernedSession,
  server: Server,
  options: ClaudeServerOptions = {},
): Server {
  const { approver = 'user', toolName = canonicalName } = options
  const tools = server.tools ?? []
  const judgedName = ({ name }: ServerTool): string => toolName(`mcp__${server.name}__${name}`)
  addFrameworkTools(session, tools.map(judgedName))
  const handlerOf = (tool: ServerTool) => governed(session, { tool, toolName: judgedName(tool), approver })
  return { ...server, tools: tools.map((tool) => ({ ...tool, handler: handlerOf(tool) })) }
}

/** The calls that a handler was asked to run. What became of them is not the runtime's to tell. */
const handled = new WeakMap<GovernedSession, Set<string>>()

/** Whether the call came to a handler of `claudeServer`; forgets it. */
export const wasHandled = (session: GovernedSession, callId: string): boolean =>
  handled.get(session)?.delete(callId) ?? false

function remember(session: GovernedSession, callId: string): void {
  const calls = handled.get(session) ?? new Set()
  handled.set(session, calls.add(callId))
}

/** The calls about which the runtime was told to ask a person. */
const asked = new WeakMap<GovernedSession, Set<string>>()

const wasAsked = (session: GovernedSession, callId: string): boolean => asked.get(session)?.delete(callId) ?? false

export function noteAsked(session: GovernedSession, callId: string): void {
  asked.set(session, (asked.get(session) ?? new Set()).add(callId))
}

/** What the runtime tells a handler, as far as it is used here. */
interface Extra {
  readonly signal?: AbortSignal
  readonly _meta?: { readonly 'claudecode/toolUseId'?: string }
}

interface Governed {
  readonly tool: ServerTool
  /** As contracts know it. */
  readonly toolName: string
  readonly approver: string
}

function governed(session: GovernedSession, { tool, toolName, approver }: Governed) {
  return async (args: unknown, given: unknown): Promise<object> => {
    const extra = (given ?? {}) as Extra
    const callId = extra._meta?.['claudecode/toolUseId'] ?? ''
    remember(session, callId)
    let result: ToolResult | null = null
    try {
      const run = await session.invoke({
        callId,
        tool: toolName,
        args,
        // The runtime runs no call about which it was told to ask, unless a person approved it.
        approvedBy: wasAsked(session, callId) ? approver : null,
        signal: extra.signal,
        run: async (judged, context) => {
          const signal = extra.signal === undefined ? context.signal : AbortSignal.any([context.signal, extra.signal])
          const input = isDeepStrictEqual(args, judged) ? args : await parsed(tool.inputSchema, judged)
          result = (await tool.handler(input as never, { ...extra, signal })) as ToolResult
          return contentOf(result)
        },
      })
      return run.ran && result !== null ? result : failedResult(String(run.result))
    } catch (error) {
      if (error instanceof ToolFailed) return error.result
      throw error
    }
  }
}

const failedResult = (text: string): object => ({ content: [{ type: 'text', text }], isError: true })

/** What the tool's schemas make of the judged arguments: those of the runtime may have been changed on their way. */
async function parsed(shape: object | undefined, judged: unknown): Promise<unknown> {
  const values = judged as Readonly<Record<string, unknown>>
  const input: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(shape ?? {})) {
    const standard = (schema as StandardSchema)['~standard']
    const result = standard === undefined ? { value: values[name] } : await standard.validate(values[name])
    if (result.issues !== undefined) throw new Error(`the argument ${name} does not fit the schema of the tool`)
    if (result.value !== undefined) input[name] = result.value
  }
  return input
}

interface StandardSchema {
  readonly '~standard'?: { validate(value: unknown): Validated | PromiseLike<Validated> }
}

interface Validated {
  readonly value?: unknown
  readonly issues?: readonly unknown[]
}
