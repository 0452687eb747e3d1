import type { Environment } from '@countersign/protocol'
import { openSession, prepareContracts, type ReplayOptions, readEnvironment, type Session } from '@countersign/sdk'
import { serverNameProblem } from '../base/mcp-servers.js'
import { jsonValue, oneOf, webAddress } from '../base/setting-values.js'
import { SETTINGS } from '../base/settings.js'
import { choosePins, type PinPlaces } from '../mcp/pins/choose-pins.js'
import { runStdioProxy, type StdioProxyOptions } from '../mcp/stdio-proxy.js'

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
  /** Sends requests to the service. */
  readonly fetch: typeof globalThis.fetch
}

/** Stands between a host and an MCP server that it starts. Resolves to the exit code. */
export async function startMcp(
  flags: McpFlags,
  command: readonly [string, ...string[]],
  { say, env, fetch, ...streams }: McpParts,
): Promise<number> {
  const server = checkedServer(flags.server)
  const service = serviceOf(flags, env, fetch)
  const options = sessionOptions(flags, service, say)
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
    pins: choosePins(pinPlaces(flags, service), { agent: flags.agent, server }),
    command,
    env: environmentOfServer(env),
    note: say,
    ...streams,
  })
}

interface Service {
  /** Null where there is none to ask. */
  readonly apiKey: string | null
  readonly runtimeUrl: string
  readonly environment: Environment
  readonly fetch: typeof globalThis.fetch
}

function serviceOf(flags: McpFlags, env: NodeJS.ProcessEnv, fetch: typeof globalThis.fetch): Service {
  const { apiKey, apiUrl, environment } = readEnvironment(env)
  return {
    apiKey,
    runtimeUrl: flagValue(flags, 'api-url') ?? apiUrl ?? SETTINGS.apiUrl.default,
    environment: flagValue(flags, 'environment') ?? ENVIRONMENTS.find((one) => one === environment) ?? 'production',
    fetch,
  }
}

/** The service keeps them where it governs the session. */
function pinPlaces(flags: McpFlags, { apiKey, ...service }: Service): PinPlaces {
  const usual = flags.contracts === undefined && service.environment === 'development' ? 'shadow' : 'enforce'
  const isKept = apiKey !== null && (flagValue(flags, 'mode') ?? usual) === 'enforce'
  return { file: flags.pins ?? null, service: isKept ? { ...service, apiKey } : null }
}

const ENVIRONMENTS = ['development', 'staging', 'production'] as const

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
  environment: oneOf(ENVIRONMENTS),
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

function sessionOptions(
  flags: McpFlags,
  { apiKey, runtimeUrl, fetch }: Service,
  say: (sentence: string) => void,
): ReplayOptions & { tools: object } {
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
    apiKey: apiKey ?? undefined,
    runtimeUrl,
    fetch,
    principal: flagValue(flags, 'principal'),
    // Standard output belongs to the protocol.
    diagnostics: ({ type, ...facts }: { readonly type: string }) => say(`${type} ${JSON.stringify(facts)}`),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never
}

/** The server is somebody else's program: Countersign's own settings, its key above all, are not for it. */
const environmentOfServer = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('COUNTERSIGN_')))
