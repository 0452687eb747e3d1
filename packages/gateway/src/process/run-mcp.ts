import { openSession, prepareContracts, type ReplayOptions, type Session } from '@countersign/sdk'
import { serverNameProblem } from '../base/mcp-servers.js'
import { jsonValue, oneOf, webAddress } from '../base/setting-values.js'
import { createFilePins } from '../mcp/file-pins.js'
import { runStdioProxy, type StdioProxyOptions } from '../mcp/stdio-proxy.js'
import { createMemoryPins } from '../mcp/tool-catalog.js'

/** What `countersign mcp` was told. */
export interface McpFlags {
  readonly agent: string
  readonly server?: string | undefined
  readonly session?: string | undefined
  readonly contracts?: string | undefined
  readonly mode?: string | undefined
  readonly environment?: string | undefined
  readonly 'unmatched-policy'?: string | undefined
  readonly 'capture-level'?: string | undefined
  readonly 'api-url'?: string | undefined
  readonly principal?: string | undefined
  readonly pins?: string | undefined
}

/** A flag of `countersign mcp` has a wrong value. */
export class McpFlagError extends Error {
  override readonly name = 'McpFlagError'
}

/** What the proxy has of the process that it runs in. */
export interface McpParts extends Pick<StdioProxyOptions, 'input' | 'output' | 'signal' | 'env'> {
  readonly say: (sentence: string) => void
}

/** Stands between a host and an MCP server that it starts. Resolves to the exit code. */
export async function startMcp(
  flags: McpFlags,
  command: readonly [string, ...string[]],
  { say, env, ...streams }: McpParts,
): Promise<number> {
  const server = checkedServer(flags.server)
  const options = sessionOptions(flags, say)
  // Wrong contracts are said at once; the session is opened when a host needs it.
  if (options.contractsDir !== undefined) prepareContracts(options.contractsDir)
  let session: Session<unknown> | null = null
  const opened = (): Session<unknown> => {
    session ??= openSession(options)
    return session
  }
  return runStdioProxy({
    session: opened,
    onTools: (tools) => opened().addTools(Object.fromEntries(tools.map((tool) => [tool, runByGateway]))),
    async closeSession() {
      await session?.close()
    },
    server,
    pins: flags.pins === undefined ? createMemoryPins() : createFilePins(flags.pins, { agent: flags.agent, server }),
    command,
    env: environmentOfServer(env),
    note: say,
    ...streams,
  })
}

function runByGateway(): never {
  throw new Error('the gateway runs the tools of MCP servers itself')
}

function checkedServer(name: string | undefined): string | null {
  const problem = name === undefined ? null : serverNameProblem(name)
  if (problem !== null) throw new McpFlagError(`--server ${problem}`)
  return name ?? null
}

/** The flags that are checked here, by name. */
const READERS = {
  mode: oneOf(['observe', 'shadow', 'enforce']),
  environment: oneOf(['development', 'staging', 'production']),
  'unmatched-policy': oneOf(['block', 'allow']),
  'capture-level': oneOf(['metadata', 'redacted', 'full']),
  'api-url': webAddress,
  principal: jsonValue,
} as const

/** The value of a flag; undefined where it was not given. */
function flagValue<Name extends keyof typeof READERS>(
  flags: McpFlags,
  name: Name,
): ReturnType<(typeof READERS)[Name]> | undefined {
  const given = flags[name]
  if (given === undefined) return undefined
  try {
    return READERS[name](given) as ReturnType<(typeof READERS)[Name]>
  } catch (error) {
    throw new McpFlagError(`--${name} ${(error as Error).message}`)
  }
}

function sessionOptions(flags: McpFlags, say: (sentence: string) => void): ReplayOptions & { tools: object } {
  const { agent, session, contracts } = flags
  const mode = flagValue(flags, 'mode')
  const given = {
    agent,
    tools: {},
    sessionId: session,
    contractsDir: contracts,
    mode: mode === 'observe' ? 'log-only' : mode,
    environment: flagValue(flags, 'environment'),
    unmatchedPolicy: flagValue(flags, 'unmatched-policy'),
    captureLevel: flagValue(flags, 'capture-level'),
    runtimeUrl: flagValue(flags, 'api-url'),
    principal: flagValue(flags, 'principal'),
    // Standard output belongs to the protocol.
    diagnostics: ({ type, ...facts }: { readonly type: string }) => say(`${type} ${JSON.stringify(facts)}`),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never
}

/** The server is somebody else's program: Countersign's own settings, its key above all, are not for it. */
const environmentOfServer = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('COUNTERSIGN_')))
