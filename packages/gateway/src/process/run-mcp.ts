import type { Environment } from '@countersign/protocol'
import {
  openSession,
  openSharedSession,
  prepareContracts,
  type ReplayOptions,
  readEnvironment,
  type Session,
} from '@countersign/sdk'
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
  readonly 'require-proposal'?: boolean | undefined
}

/** A flag of `countersign mcp` has a wrong value. */
export class McpFlagError extends Error {
  override readonly name = 'McpFlagError'
}

/** What the proxy has of the process that it runs in. */
export interface McpParts extends Pick<StdioProxyOptions, 'input' | 'output' | 'signal' | 'env'> {
  readonly say: (sentence: string) => void
  /** Sends requests to the service; left out, as the SDK does. */
  readonly fetch?: typeof globalThis.fetch
}

/** Stands between a host and an MCP server that it starts. Resolves to the exit code. */
export async function startMcp(
  flags: McpFlags,
  command: readonly [string, ...string[]],
  { say, env, fetch, ...streams }: McpParts,
): Promise<number> {
  const server = checkedServer(flags.server)
  const service = serviceOf(flags, env, fetch)
  const isShared = sharesSession(flags, service)
  const options = sessionOptions(flags, service, say)
  // Wrong contracts are said at once; the session is opened when a host needs it.
  if (options.contractsDir !== undefined) prepareContracts(options.contractsDir)
  let session: Session<unknown> | null = null
  const opened = (): Session<unknown> => {
    session ??= isShared ? openSharedSession(options) : openSession(options)
    return session
  }
  return runStdioProxy({
    session: opened,
    requiresProposal: flags['require-proposal'] === true && isShared,
    onTools(tools) {
      // In a session that others hold, a call that they run leaves no evidence here.
      if (!isShared) opened().addTools(Object.fromEntries(tools.map((tool) => [tool, runByGateway])))
    },
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
  readonly fetch: typeof globalThis.fetch | undefined
}

function serviceOf(flags: McpFlags, env: NodeJS.ProcessEnv, fetch: typeof globalThis.fetch | undefined): Service {
  const { apiKey, apiUrl, environment } = readEnvironment(env)
  return {
    apiKey,
    runtimeUrl: flagValue(flags, 'api-url') ?? apiUrl ?? SETTINGS.apiUrl.default,
    environment: flagValue(flags, 'environment') ?? ENVIRONMENTS.find((one) => one === environment) ?? 'production',
    fetch,
  }
}

/** Verdicts stop calls, and the service gives them. */
function isGoverned(flags: McpFlags, { apiKey, environment }: Service): boolean {
  const usual = flags.contracts === undefined && environment === 'development' ? 'shadow' : 'enforce'
  return apiKey !== null && (flagValue(flags, 'mode') ?? usual) === 'enforce'
}

/** The service keeps them where it governs the session. */
function pinPlaces(flags: McpFlags, { apiKey, ...service }: Service): PinPlaces {
  const isKept = apiKey !== null && isGoverned(flags, { ...service, apiKey })
  return { file: flags.pins ?? null, service: isKept ? { ...service, apiKey } : null }
}

/** A session that was named is one that gateways hold, too: a model's calls in it come to the process that runs them. */
function sharesSession(flags: McpFlags, service: Service): boolean {
  if (flags['require-proposal'] === true && flags.session === undefined) {
    throw new McpFlagError(
      "--require-proposal needs --session ID: the id that the model's client sends to the gateway as x-countersign-session",
    )
  }
  if (flags['require-proposal'] === true && service.apiKey === null) {
    throw new McpFlagError('--require-proposal needs COUNTERSIGN_API_KEY: the service knows what a model has proposed')
  }
  if (flags['require-proposal'] === true && flags.contracts !== undefined) {
    throw new McpFlagError(
      '--require-proposal goes without --contracts: in the session of a gateway the plan approved for the agent holds',
    )
  }
  return flags.session !== undefined && flags.contracts === undefined && isGoverned(flags, service)
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
): ReplayOptions & { agent: string } {
  const { agent, session, contracts } = flags
  const mode = flagValue(flags, 'mode')
  const given = {
    agent,
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

/** The server is a foreign program: Countersign's own settings, its key above all, are not for it. */
const environmentOfServer = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('COUNTERSIGN_')))
