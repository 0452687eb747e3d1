import { mcpServers } from './mcp-servers.js'
import { integer, jsonValue, oneOf, path, secret, text, upstreams, webAddress } from './setting-values.js'

interface Setting<Value, Default extends string | null> {
  readonly env: string
  /** Null where a value on the command line would be seen by every user of the machine. */
  readonly flag: string | null
  /** As a person would write it; null if there is none. */
  readonly default: Default
  readonly help: string
  readonly parse: (text: string) => Value
}

const setting = <Value, Default extends string | null>(row: Setting<Value, Default>) => row

/** Every setting of the gateway. `--help` is generated from this table; the names are those of the settings file. */
export const SETTINGS = {
  host: setting({
    env: 'COUNTERSIGN_GATEWAY_HOST',
    flag: 'host',
    default: '127.0.0.1',
    help: 'address to listen on; any program that reaches it can take turns in your sessions',
    parse: text,
  }),
  port: setting({
    env: 'COUNTERSIGN_GATEWAY_PORT',
    flag: 'port',
    default: '4320',
    help: 'port to listen on; 0 picks a free one',
    parse: integer(0, 65_535),
  }),
  agent: setting({
    env: 'COUNTERSIGN_GATEWAY_AGENT',
    flag: 'agent',
    default: null,
    help: 'the only agent to serve; without it, any name in the path',
    parse: text,
  }),
  mode: setting({
    env: 'COUNTERSIGN_GATEWAY_MODE',
    flag: 'mode',
    default: null,
    help: 'observe (capture only), shadow (record what would be blocked) or enforce; without it, as the environment says',
    parse: oneOf(['observe', 'shadow', 'enforce']),
  }),
  environment: setting({
    env: 'COUNTERSIGN_ENVIRONMENT',
    flag: 'environment',
    default: 'production',
    help: 'the environment whose approved plan is used: development (shadow), staging (enforce; calls pass if there is no plan) or production (enforce)',
    parse: oneOf(['development', 'staging', 'production']),
  }),
  upstreams: setting({
    env: 'COUNTERSIGN_GATEWAY_UPSTREAM',
    flag: 'upstream',
    default: 'openai=https://api.openai.com,anthropic=https://api.anthropic.com',
    help: 'where requests go: openai=URL,anthropic=URL; the URL stands for what precedes /v1. May be repeated',
    parse: upstreams,
  }),
  mcpServers: setting({
    env: 'COUNTERSIGN_GATEWAY_MCP',
    flag: 'mcp',
    default: null,
    help: 'MCP servers by name: files=URL,db=URL; in the file also {"files":{"url":…,"headers":{…}}}. May be repeated',
    parse: mcpServers,
  }),
  mcpPins: setting({
    env: 'COUNTERSIGN_GATEWAY_MCP_PINS',
    flag: 'mcp-pins',
    default: null,
    help: 'file of the definitions of MCP tools; one that changes is blocked until a person approves it (countersign mcp pins)',
    parse: path,
  }),
  requireProposal: setting({
    env: 'COUNTERSIGN_GATEWAY_REQUIRE_PROPOSAL',
    flag: 'require-proposal',
    default: 'false',
    help: 'true runs a call of an MCP tool only where a model proposed it in the same session',
    parse: (value) => oneOf(['true', 'false'])(value) === 'true',
  }),
  apiUrl: setting({
    env: 'COUNTERSIGN_API_URL',
    flag: 'api-url',
    default: 'http://127.0.0.1:4319',
    help: 'URL of the Countersign server',
    parse: webAddress,
  }),
  apiKey: setting({
    env: 'COUNTERSIGN_API_KEY',
    flag: null,
    default: null,
    help: 'API key of the tenant',
    parse: secret,
  }),
  principal: setting({
    env: 'COUNTERSIGN_GATEWAY_PRINCIPAL',
    flag: 'principal',
    default: null,
    help: 'who the agents act for, as policies see it: JSON',
    parse: jsonValue,
  }),
  captureLevel: setting({
    env: 'COUNTERSIGN_GATEWAY_CAPTURE_LEVEL',
    flag: 'capture-level',
    default: 'redacted',
    help: 'what is captured and stored: metadata, redacted or full',
    parse: oneOf(['metadata', 'redacted', 'full']),
  }),
  unmatchedPolicy: setting({
    env: 'COUNTERSIGN_GATEWAY_UNMATCHED_POLICY',
    flag: 'unmatched-policy',
    default: 'block',
    help: 'what to do with a call of a tool that has no contract: block or allow',
    parse: oneOf(['block', 'allow']),
  }),
  maxBodyMb: setting({
    env: 'COUNTERSIGN_GATEWAY_MAX_BODY_MB',
    flag: 'max-body-mb',
    default: '32',
    help: 'the largest body of a request, and of an answer that does not stream',
    parse: integer(1, 1_024),
  }),
  bodySeconds: setting({
    env: 'COUNTERSIGN_GATEWAY_BODY_SECONDS',
    flag: 'body-seconds',
    default: '30',
    help: 'how long a client may take to send a request',
    parse: integer(1, 3_600),
  }),
  maxConnections: setting({
    env: 'COUNTERSIGN_GATEWAY_MAX_CONNECTIONS',
    flag: 'max-connections',
    default: '2000',
    help: 'client connections open at once; one more gets 503 and is closed',
    parse: integer(1, 1_000_000),
  }),
  upstreamSeconds: setting({
    env: 'COUNTERSIGN_GATEWAY_UPSTREAM_SECONDS',
    flag: 'upstream-seconds',
    default: '600',
    help: 'how long an upstream may send nothing before the request is given up',
    parse: integer(1, 86_400),
  }),
  metricsToken: setting({
    env: 'COUNTERSIGN_METRICS_TOKEN',
    flag: null,
    default: null,
    help: 'bearer token for /metrics; without it there is no /metrics',
    parse: secret,
  }),
  logLevel: setting({
    env: 'COUNTERSIGN_LOG_LEVEL',
    flag: 'log-level',
    default: 'info',
    help: 'debug, info, warn, error or silent',
    parse: oneOf(['debug', 'info', 'warn', 'error', 'silent']),
  }),
  config: setting({
    env: 'COUNTERSIGN_GATEWAY_CONFIG',
    flag: 'config',
    default: null,
    help: 'JSON file with settings by name, such as {"port":4320}; flags and variables win over it',
    parse: path,
  }),
} as const

export type SettingName = keyof typeof SETTINGS
type ValueOf<Row> =
  Row extends Setting<infer Value, infer Default> ? Value | (Default extends null ? null : never) : never
export type GatewaySettings = { readonly [Name in SettingName]: ValueOf<(typeof SETTINGS)[Name]> }

/** A setting is wrong; the message names its variable, its flag or its place in the file. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

export interface SettingSources {
  readonly env: Readonly<Record<string, string | undefined>>
  /** By the names of the flags; a repeated one joined by commas. */
  readonly flags: Readonly<Record<string, string | undefined>>
  readonly readFile: (path: string) => string
}

/** A flag overrides the environment, which overrides the file, which overrides the default. */
export function readSettings({ env, flags, readFile }: SettingSources): GatewaySettings {
  const path = flags.config ?? filled(env[SETTINGS.config.env])
  const file = path === undefined ? new Map<string, string>() : settingsIn(path, readFile)
  const values: Record<string, unknown> = {}
  for (const [name, row] of Object.entries<Setting<unknown, string | null>>(SETTINGS)) {
    const fromFlag = row.flag === null ? undefined : flags[row.flag]
    const fromEnv = filled(env[row.env])
    const given = fromFlag ?? fromEnv ?? file.get(name) ?? row.default
    try {
      values[name] = given === null ? null : row.parse(given)
    } catch (error) {
      const inFile = file.has(name) ? `${name} in ${path}` : row.env
      const source = fromFlag !== undefined ? `--${row.flag}` : fromEnv !== undefined ? row.env : inFile
      throw new SettingsError(`${source} ${(error as Error).message} (${row.help})`)
    }
  }
  return values as unknown as GatewaySettings
}

/** Strings stand for themselves, other values for their JSON, as on a command line. */
function settingsIn(path: string, readFile: (path: string) => string): Map<string, string> {
  const content = parsed(path, readFile)
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new SettingsError(`${path} must hold a JSON object with settings by name`)
  }
  const unknown = Object.keys(content).filter((name) => !Object.hasOwn(SETTINGS, name) || name === 'config')
  if (unknown.length > 0) {
    throw new SettingsError(`${path} has unknown settings: ${unknown.join(', ')}. Known: ${FILE_SETTINGS.join(', ')}`)
  }
  return new Map(
    Object.entries(content).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

const FILE_SETTINGS = Object.keys(SETTINGS).filter((name) => name !== 'config')

function parsed(path: string, readFile: (path: string) => string): unknown {
  let content: string
  try {
    content = readFile(path)
  } catch (error) {
    throw new SettingsError(`the settings file ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  try {
    return JSON.parse(content)
  } catch {
    // What JSON.parse says repeats a part of the text, which may be a key.
    throw new SettingsError(`the settings file ${path} is not JSON`)
  }
}

const filled = (value: string | undefined): string | undefined => (value?.trim() ? value : undefined)

/** The lines of `--help`. */
export function settingsHelp(): string {
  const rows = Object.values<Setting<unknown, string | null>>(SETTINGS)
  const width = Math.max(...rows.map((row) => row.flag?.length ?? 0)) + 4
  return rows
    .map((row) => {
      const value = row.default === null ? '' : ` [${row.default}]`
      const flag = row.flag === null ? '' : `--${row.flag}`
      return `  ${flag.padEnd(width)}${row.help}${value}\n  ${''.padEnd(width)}${row.env}`
    })
    .join('\n')
}
