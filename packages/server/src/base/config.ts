import { QUOTA_NAMES } from '@countersign/protocol'
import {
  databaseAddress,
  integer,
  ledgerKeys,
  networks,
  oneLine,
  oneOf,
  onOff,
  quotas,
  secret,
  signingKeys,
  smtpAddress,
  text,
  webAddress,
} from './config-values.js'
import { oidcProviders } from './oidc-file.js'

interface Setting<Value, Default extends string | null> {
  env: string
  flag: string
  /** As a person would write it; null if there is none. */
  default: Default
  help: string
  parse: (text: string) => Value
}

const setting = <Value, Default extends string | null>(row: Setting<Value, Default>) => row

/** Every setting of the server. `--help` and the reference page are generated from this table. */
export const SETTINGS = {
  host: setting({
    env: 'COUNTERSIGN_HOST',
    flag: 'host',
    default: '127.0.0.1',
    help: 'address to listen on; 0.0.0.0 listens on every interface',
    parse: text,
  }),
  port: setting({
    env: 'COUNTERSIGN_PORT',
    flag: 'port',
    default: '4319',
    help: 'port to listen on; 0 picks a free one',
    parse: integer(0, 65_535),
  }),
  publicUrl: setting({
    env: 'COUNTERSIGN_PUBLIC_URL',
    flag: 'public-url',
    default: null,
    help: 'URL at which users reach the service, used for links in email; https in production',
    parse: webAddress,
  }),
  mode: setting({
    env: 'COUNTERSIGN_MODE',
    flag: 'mode',
    default: 'development',
    help: 'development or production; production requires https and signing keys',
    parse: oneOf(['development', 'production']),
  }),
  dataFolder: setting({
    env: 'COUNTERSIGN_DATA_FOLDER',
    flag: 'data-folder',
    default: '.countersign',
    help: 'folder for the embedded database and unsent email',
    parse: text,
  }),
  databaseUrl: setting({
    env: 'DATABASE_URL',
    flag: 'database-url',
    default: null,
    help: 'PostgreSQL 15 or later, used instead of the embedded database; of several hosts (a:5432,b:5432) the one that takes writes',
    parse: databaseAddress,
  }),
  poolSize: setting({
    env: 'COUNTERSIGN_POOL_SIZE',
    flag: 'pool-size',
    default: '20',
    help: 'database connections of the main thread; each thread for long requests opens up to four more, 16 on two cores and 24 on four',
    parse: integer(4, 500),
  }),
  maxConnections: setting({
    env: 'COUNTERSIGN_MAX_CONNECTIONS',
    flag: 'max-connections',
    default: '2000',
    help: 'client connections open at once; one more is closed. How many of them one client may have is for the reverse proxy to say',
    parse: integer(10, 1_000_000),
  }),
  drainSeconds: setting({
    env: 'COUNTERSIGN_DRAIN_SECONDS',
    flag: 'drain-seconds',
    default: '2',
    help: 'seconds to serve on after SIGTERM while /readyz says 503, so that load balancers notice before the port closes',
    parse: integer(0, 600),
  }),
  memoryMb: setting({
    env: 'COUNTERSIGN_MEMORY_MB',
    flag: 'memory-mb',
    default: '512',
    help: 'heap this process may count on; its caches and buffers together are bounded to six tenths of it',
    parse: integer(256, 1_048_576),
  }),
  logLevel: setting({
    env: 'COUNTERSIGN_LOG_LEVEL',
    flag: 'log-level',
    default: 'info',
    help: 'debug, info, warn, error or silent',
    parse: oneOf(['debug', 'info', 'warn', 'error', 'silent']),
  }),
  metricsToken: setting({
    env: 'COUNTERSIGN_METRICS_TOKEN',
    flag: 'metrics-token',
    default: null,
    help: 'bearer token for /metrics, at least 16 characters; without it there is no /metrics',
    parse: secret(16),
  }),
  trustedProxies: setting({
    env: 'COUNTERSIGN_TRUSTED_PROXIES',
    flag: 'trusted-proxies',
    default: '',
    help: 'comma-separated addresses or networks (10.0.0.0/8) whose X-Forwarded-For is trusted',
    parse: networks,
  }),
  defaultQuota: setting({
    env: 'COUNTERSIGN_DEFAULT_QUOTA',
    flag: 'default-quota',
    default: 'free',
    help: 'quota of accounts that sign up: free, team or scale; free is 30 POST requests per minute, about ten turns',
    parse: oneOf(QUOTA_NAMES),
  }),
  quotas: setting({
    env: 'COUNTERSIGN_QUOTAS',
    flag: 'quotas',
    default: '{}',
    help: 'overrides of the built-in quotas, as JSON: {"free":{"write":60}}',
    parse: quotas,
  }),
  workflows: setting({
    env: 'COUNTERSIGN_WORKFLOWS',
    flag: 'workflows',
    default: 'on',
    help: 'workflow governance: on or off',
    parse: onOff,
  }),
  retentionDays: setting({
    env: 'COUNTERSIGN_RETENTION_DAYS',
    flag: 'retention-days',
    default: '90',
    help: 'days to keep captures, content, finished requests and runs, and plans that nothing refers to',
    parse: integer(1, 36_500),
  }),
  auditRetentionDays: setting({
    env: 'COUNTERSIGN_AUDIT_RETENTION_DAYS',
    flag: 'audit-retention-days',
    default: null,
    help: 'days to keep the audit trail; kept forever if unset',
    parse: integer(1, 36_500),
  }),
  smtpUrl: setting({
    env: 'COUNTERSIGN_SMTP_URL',
    flag: 'smtp-url',
    default: null,
    help: 'mail server, smtp://user:password@host:587; without it, email is written to the data folder',
    parse: smtpAddress,
  }),
  mailFrom: setting({
    env: 'COUNTERSIGN_MAIL_FROM',
    flag: 'mail-from',
    default: 'Countersign <countersign@localhost>',
    help: 'sender of email',
    parse: oneLine,
  }),
  signup: setting({
    env: 'COUNTERSIGN_SIGNUP',
    flag: 'signup',
    default: null,
    help: 'whether anybody may create an account: open or closed; by default open in development and closed in production',
    parse: oneOf(['open', 'closed']),
  }),
  passwords: setting({
    env: 'COUNTERSIGN_PASSWORDS',
    flag: 'passwords',
    default: 'on',
    help: "whether people may sign in with a password: on or off; off leaves the company's provider",
    parse: onOff,
  }),
  oidcProviders: setting({
    env: 'COUNTERSIGN_OIDC_FILE',
    flag: 'oidc-file',
    default: null,
    help: "JSON file with the company's identity providers, for sign-in by OpenID Connect",
    parse: oidcProviders,
  }),
  signingKeys: setting({
    env: 'COUNTERSIGN_SIGNING_KEYS',
    flag: 'signing-keys',
    default: null,
    help: 'comma-separated secrets for dashboard tokens, at least 32 characters each; the first signs, all verify',
    parse: signingKeys,
  }),
  ledgerKeys: setting({
    env: 'COUNTERSIGN_LEDGER_KEYS',
    flag: 'ledger-keys',
    default: null,
    help: 'comma-separated Ed25519 keys for ledger heads (`countersign ledger-key new`); the first signs, the others are former ones',
    parse: ledgerKeys,
  }),
  scryptCost: setting({
    env: 'COUNTERSIGN_SCRYPT_COST',
    flag: 'scrypt-cost',
    default: '17',
    help: 'cost of password hashing, as a power of two',
    parse: integer(10, 20),
  }),
  allowLocalIssuers: setting({
    env: 'COUNTERSIGN_ALLOW_LOCAL_ISSUERS',
    flag: 'allow-local-issuers',
    default: 'off',
    help: "read the keys of principal tokens' issuers also from private addresses, and by http on this machine: on or off",
    parse: onOff,
  }),
  allowLocalWebhooks: setting({
    env: 'COUNTERSIGN_ALLOW_LOCAL_WEBHOOKS',
    flag: 'allow-local-webhooks',
    default: 'off',
    help: 'send webhooks also to private addresses, and by http to this machine: on or off',
    parse: onOff,
  }),
  demo: setting({
    env: 'COUNTERSIGN_DEMO',
    flag: 'demo',
    default: 'on',
    help: 'demo account and API key, in development only: on or off',
    parse: onOff,
  }),
  dashboardFolder: setting({
    env: 'COUNTERSIGN_DASHBOARD_FOLDER',
    flag: 'dashboard-folder',
    default: null,
    help: 'folder of the built dashboard; found automatically if unset',
    parse: text,
  }),
} as const

export type SettingName = keyof typeof SETTINGS
type ValueOf<Row> =
  Row extends Setting<infer Value, infer Default> ? Value | (Default extends null ? null : never) : never
export type Config = { readonly [Name in SettingName]: ValueOf<(typeof SETTINGS)[Name]> }
export type { Quotas } from './config-values.js'

/** A setting is wrong; the message names its variable or flag. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** A flag overrides the environment, which overrides the default. */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, string | undefined>> = {},
): Config {
  const values: Record<string, unknown> = {}
  for (const [name, row] of Object.entries<Setting<unknown, string | null>>(SETTINGS)) {
    const fromFlag = flags[row.flag]
    const given = fromFlag ?? (env[row.env] === '' ? undefined : env[row.env]) ?? row.default
    try {
      values[name] = given === null ? null : row.parse(given)
    } catch (error) {
      const source = fromFlag === undefined ? row.env : `--${row.flag}`
      throw new ConfigError(`${source}: ${(error as Error).message} (${row.help})`)
    }
  }
  const config = values as unknown as Config
  refuseUnsafeProduction(config)
  return config
}

function refuseUnsafeProduction(config: Config): void {
  if (config.mode !== 'production') return
  if (config.publicUrl === null || !config.publicUrl.startsWith('https://')) {
    throw new ConfigError('production needs an https URL in COUNTERSIGN_PUBLIC_URL: cookies and links depend on it')
  }
  const plain = config.oidcProviders?.find(({ issuer }) => issuer.startsWith('http:'))
  if (plain !== undefined) {
    throw new ConfigError(`production needs an https issuer: COUNTERSIGN_OIDC_FILE names ${plain.issuer}`)
  }
  if (config.signingKeys === null) {
    throw new ConfigError('production needs COUNTERSIGN_SIGNING_KEYS: generate one with `openssl rand -base64 48`')
  }
}

/** Where users reach the service, as far as its settings say. */
export const addressOf = ({ publicUrl, host, port }: Config): string => publicUrl ?? `http://${host}:${port}`

/** The lines of `--help`. */
export function settingsHelp(): string {
  const rows = Object.values<Setting<unknown, string | null>>(SETTINGS)
  const width = Math.max(...rows.map((row) => row.flag.length)) + 4
  return rows
    .map((row) => {
      const value = row.default === null || row.default === '' ? '' : ` [${row.default}]`
      return `  ${`--${row.flag}`.padEnd(width)}${row.help}${value}\n  ${''.padEnd(width)}${row.env}`
    })
    .join('\n')
}
