import { OPERATORS, saltedHash } from '@countersign/engine'
import { SETTINGS as GATEWAY_SETTINGS } from '@countersign/gateway'
import {
  BLOCK_REASONS,
  BUCKETS,
  CONTRACT_KEYS,
  ERRORS,
  LIMITS,
  NARROWING_REASONS,
  openApiDocument,
  pathTemplate,
  QUOTA_NAMES,
  QUOTAS,
  ROUTES,
  type Route,
  SESSION_KEYS,
  STORY_KEYS,
} from '@countersign/protocol'
import { SETTINGS } from '@countersign/server'
import { COMMANDS } from '../../packages/cli/src/commands.js'
import { compactJson } from './compact-json.js'
import { DIAGNOSTIC_MEANINGS } from './diagnostic-meanings.js'
import { HEALTH_FACTS, HEALTH_MEANINGS } from './health-meanings.js'
import { CONDITIONS, INVARIANTS, nestedKeys } from './language-keys.js'
import { LIMIT_MEANINGS } from './limit-meanings.js'
import { optionRows } from './option-docs.js'
import { policySections } from './policies-page.js'

const table = (head: readonly string[], rows: readonly (readonly unknown[])[]) =>
  [
    `| ${head.join(' | ')} |`,
    `|${head.map(() => '---').join('|')}|`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n')

const page = (title: string, intro: string, ...parts: readonly string[]) =>
  pageFrom('packages/protocol', title, intro, ...parts)

const pageFrom = (source: string, title: string, intro: string, ...parts: readonly string[]) =>
  `# ${title}\n\nGenerated from the tables in \`${source}\` by \`npm run docs\`.\n\n${intro}\n\n${parts.join('\n\n')}\n`

const THROTTLES = {
  none: 'its own limits',
  write: 'write',
  read: 'read',
  stop: 'none: never refused',
  proposal: 'proposal',
  capture: 'capture',
  evidence: 'evidence',
  dashboard: 'dashboard',
}
const AUTHENTICATIONS = { api_key: 'API key', cookie: 'cookie', none: 'none' }

function apiPage(): string {
  const rows = Object.entries<Route>(ROUTES).map(([name, route]) => [
    `\`${name}\``,
    route.method,
    `\`${pathTemplate(route)}\``,
    AUTHENTICATIONS[route.auth],
    THROTTLES[route.throttle],
    route.summary,
  ])
  return page(
    'HTTP API',
    '[openapi.json](openapi.json) describes every request and response body. A running server serves it at `/openapi.json`, and a readable version at `/docs`.',
    table(['operation', 'method', 'path', 'authentication', 'bucket', 'what it does'], rows),
  )
}

const errorsPage = () =>
  page(
    'Errors',
    'Every error is an RFC 9457 problem document (`application/problem+json`) with a stable `code`. A blocked tool call is not an error: it is a 200 with decisions.\n\nIn a program, call `blockOf(error)` for every error of a client, also inside `.stream()`: clients wrap what they are thrown. It finds blocks, outages and refusals of the server, which have one of these as `code`. Null is an error of something else.',
    table(
      ['code', 'status', 'meaning', 'what to do'],
      Object.entries(ERRORS).map(([code, { status, title, fix }]) => [`\`${code}\``, status, title, fix]),
    ),
  )

const reasonsPage = () =>
  page(
    'Block and narrowing reasons',
    'In order of precedence: if several reasons apply to one call, `reason` is the first of them and `reasons` lists all.',
    table(
      ['block reason', 'meaning', 'removed at preflight as'],
      Object.entries(BLOCK_REASONS).map(([reason, { meaning, narrowsAs }]) => [
        `\`${reason}\``,
        meaning,
        narrowsAs === null ? '' : `\`${narrowsAs}\``,
      ]),
    ),
    table(
      ['narrowing reason', 'meaning'],
      Object.entries(NARROWING_REASONS).map(([reason, meaning]) => [`\`${reason}\``, meaning]),
    ),
  )

const QUOTAS_INTRO = `## Quotas

Accounts that sign up get \`free\` (\`COUNTERSIGN_DEFAULT_QUOTA\` changes it). Tenants that an operator makes with \`countersign tenant create\`, and the demo, get \`team\`.

A quota is requests per minute for each bucket, runs per rolling 30 days, and bytes of request bodies per day. A request draws from the bucket that [the API reference](api.md) names if its quota has that bucket, otherwise a POST draws from \`write\` and a GET from \`read\`. On \`free\` a tenant therefore has one bucket of 30 POST requests a minute and one of 120 GET requests, for its programs and its people together: a turn is a preflight, a proposal and its receipts, so about ten turns a minute.

What stops is never refused by a quota, and takes nothing from it: kills of sessions and workflows, stopping an agent, labels, bypass reports, revoking a key.

A bucket refills evenly, so the bytes of two days fit into 24 hours at most. When they are used up, requests that bring a body get 429 with the time when they fit; receipts are accepted until another day of bytes is used.`

const limitsPage = () =>
  page(
    'Limits',
    'Units are in the names. When a bucket is empty, the server responds with 429 and `Retry-After`.',
    table(
      ['limit', 'value', 'meaning'],
      Object.entries(LIMITS).map(([name, value]) => [
        `\`${name}\``,
        value.toLocaleString('en-US'),
        LIMIT_MEANINGS[name as keyof typeof LIMITS],
      ]),
    ),
    QUOTAS_INTRO,
    table(
      ['quota', ...BUCKETS, 'runs', 'bytes'],
      QUOTA_NAMES.map((quota) => [
        `\`${quota}\``,
        ...[...BUCKETS, 'runs' as const, 'bytes' as const].map(
          (name) => QUOTAS[quota][name]?.toLocaleString('en-US') ?? '',
        ),
      ]),
    ),
  )

const settingsPage = () =>
  pageFrom(
    'packages/server/src/base/config.ts',
    'Settings',
    'A flag of `countersign start` overrides the environment variable, which overrides the default. In production the server does not start without an https `COUNTERSIGN_PUBLIC_URL` and `COUNTERSIGN_SIGNING_KEYS`.',
    table(
      ['variable', 'flag', 'default', 'what it does'],
      Object.values(SETTINGS).map((row) => [
        `\`${row.env}\``,
        `\`--${row.flag}\``,
        row.default === null || row.default === '' ? '' : `\`${row.default}\``,
        row.help,
      ]),
    ),
  )

const gatewaySettingsPage = () =>
  pageFrom(
    'packages/gateway/src/base/settings.ts',
    'Settings of the gateway',
    'A flag of `countersign gateway` overrides the environment variable, which overrides the file of `--config`, which overrides the default. The file is a JSON object by the names in the first column.',
    table(
      ['name', 'variable', 'flag', 'default', 'what it does'],
      Object.entries(GATEWAY_SETTINGS).map(([name, row]) => [
        `\`${name}\``,
        `\`${row.env}\``,
        row.flag === null ? '' : `\`--${row.flag}\``,
        row.default === null ? '' : `\`${row.default}\``,
        row.help,
      ]),
    ),
  )

const optionTable = (face: Parameters<typeof optionRows>[0]) =>
  table(['option', 'type', 'default', 'what it does'], optionRows(face))
const wordTable = (head: string, words: Readonly<Record<string, string>>) =>
  table(
    [head, 'meaning'],
    Object.entries(words).map(([name, meaning]) => [`\`${name}\``, meaning]),
  )

const optionsPage = () =>
  pageFrom(
    'packages/sdk/src/options/option-table.ts',
    'Options of the SDK',
    '`replay` throws a `ReplayConfigError` if an option is unknown or its value is not allowed. `observe` never throws: it ignores such an option, or uses the nearest allowed value, and reports that to [`diagnostics`](diagnostics.md). Without a `diagnostics` callback, anything that needs attention is written to the console, once.',
    '## replay(client, options)',
    optionTable('replay'),
    '## The option workflow of replay',
    optionTable('workflow'),
    '## observe(client, options)',
    optionTable('observe'),
  )

const diagnosticsPage = () =>
  pageFrom(
    'scripts/reference/diagnostic-meanings.ts',
    'Diagnostics',
    'Events that `replay` and `observe` send to the `diagnostics` callback, as `{ type, … }`. They report; they never change what is allowed.',
    wordTable('type', DIAGNOSTIC_MEANINGS),
  )

const healthPage = () =>
  pageFrom(
    'scripts/reference/health-meanings.ts',
    'Health',
    '`session.getHealth()` returns a frozen snapshot. Each value means one thing.',
    ...Object.entries(HEALTH_MEANINGS).map(([field, values]) => `## ${field}\n\n${wordTable('value', values)}`),
    '## Numbers and flags',
    wordTable('field', HEALTH_FACTS),
  )

/** A salt, a value and its hash, so that anybody can check their own code. */
const HASH_EXAMPLE = { salt: 'n4Yf0Z', value: { order_id: 'A-1', amount: 20.5 } } as const

const hashesPage = () =>
  pageFrom(
    'packages/engine/src/json/hash.ts',
    'Hashes of arguments and results',
    'A program that sends receipts over HTTP makes `argument_hash` and `result_hash` this way. The SDK does it by itself.',
    [
      '1. Take the `hash_salt` from the reply to creating the session.',
      '2. Write the value as canonical JSON ([RFC 8785](https://www.rfc-editor.org/rfc/rfc8785)): keys sorted, no spaces, numbers in their shortest form.',
      '3. Join the number of characters of the salt, the salt and that JSON by colons, and encode the text as UTF-8.',
      '4. The hash is the SHA-256 of it, in lower-case hex.',
    ].join('\n'),
    'For a call, the value is the object of its arguments; `argument_hash` of the decision is the hash to repeat. For a result, it is what the tool returned; nothing returned is `null`. A result that has no JSON goes without `result_hash` and with `result_unhashable: true`.',
    '## Example',
    table(
      ['what', 'text'],
      [
        ['salt', `\`${HASH_EXAMPLE.salt}\``],
        ['hashed text', `\`${HASH_EXAMPLE.salt.length}:${HASH_EXAMPLE.salt}:{"amount":20.5,"order_id":"A-1"}\``],
        ['hash', `\`${saltedHash(HASH_EXAMPLE.salt, HASH_EXAMPLE.value)}\``],
      ],
    ),
  )

/** A table for each key that has keys of its own. */
const nestedTables = (file: Parameters<typeof nestedKeys>[0]) =>
  [...nestedKeys(file)]
    .filter(([key]) => key !== INVARIANTS && key !== CONDITIONS)
    .map(([key, rows]) => `### ${key}\n\n${table(['key', 'value', 'without it', 'meaning'], rows)}`)

const contractPage = () =>
  pageFrom(
    'packages/protocol/src/contract/key-meanings.ts` and `scripts/reference/nested-key-meanings.ts',
    'Contract language',
    'One YAML or JSON file per tool, and an optional `session.yaml`. [The guide](../guides/contracts.md) shows them in use. `countersign schema` prints the JSON Schemas that this page is made of.',
    '## A contract',
    wordTable('key', CONTRACT_KEYS),
    ...nestedTables('contract'),
    '## session.yaml',
    wordTable('key', SESSION_KEYS),
    ...nestedTables('session'),
    '## Stories',
    'Files such as `refunds.test.yaml` beside the contracts, for `countersign test`.',
    wordTable('key', STORY_KEYS),
    ...nestedTables('test'),
    '## Invariants',
    'An invariant is `{ path, message, operator: operand, … }` with at least one operator.',
    table(['key', 'value', 'without it', 'meaning'], nestedKeys('contract').get(INVARIANTS) ?? []),
    '## Conditions',
    'A rule with `when` applies unless one of its conditions surely fails. A condition is `{ path | label | bound | principal, operator: operand, … }`: it holds if a value found passes all its operators; it fails if values were found and compared and none passes, or if nothing was found and it says `exists: true`. Otherwise it cannot be told, and the rule applies: nothing was found, a value has another type than the operand, nothing is bound yet, the session has no principal, or an earlier call of the same response may add the label. A tool is not offered only if all conditions of a rule that hides it hold before its arguments are known. In `checkpoint`, a `path` that finds nothing fails, and so does a value of another type under `equals`.',
    table(['key', 'value', 'without it', 'meaning'], nestedKeys('contract').get(CONDITIONS) ?? []),
    '## Operators\n\nAn invariant such as `{ path: $.amount, gt: 0, lte: 500 }` holds when all its operators hold. A missing value satisfies only `exists: false`. Strings are compared exactly, without case folding or normalization, and numbers without rounding.',
    table(
      ['operator', 'operand', 'holds for'],
      Object.entries(OPERATORS).map(([name, { operand, meaning }]) => [`\`${name}\``, operand, meaning]),
    ),
  )

const policiesPage = () => {
  const [intro = '', ...sections] = policySections()
  return pageFrom('scripts/reference/policies-page.ts', 'Policies', intro, ...sections)
}

const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()))

const commandsPage = () =>
  pageFrom(
    'packages/cli',
    'Command line',
    'Run `npx countersign COMMAND`. `countersign COMMAND --help` prints the same text.',
    ...commands.map(
      ({ usage, summary, help }) =>
        `## countersign ${usage[0].split(' ')[0]}\n\n\`\`\`\n${usage.map((form) => `countersign ${form}`).join('\n')}\n\`\`\`\n\n${sentence(summary)}${help ? `\n\n${helpText(usage[0], help())}` : ''}`,
    ),
  )
/** Where a command has many settings, they have a page of their own. */
const helpText = (usage: string, help: string) => {
  if (!help.includes('--host')) return help
  const file = usage.startsWith('gateway') ? 'gateway-settings.md' : 'settings.md'
  return `Every flag is in [settings](${file}).`
}
const sentence = (words: string) => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`

/** Every page of the reference by file name. */
export const referencePages = (): ReadonlyMap<string, string> =>
  new Map([
    ['api.md', apiPage()],
    ['errors.md', errorsPage()],
    ['block-reasons.md', reasonsPage()],
    ['limits.md', limitsPage()],
    ['settings.md', settingsPage()],
    ['gateway-settings.md', gatewaySettingsPage()],
    ['options.md', optionsPage()],
    ['diagnostics.md', diagnosticsPage()],
    ['health.md', healthPage()],
    ['hashes.md', hashesPage()],
    ['contract-language.md', contractPage()],
    ['policies.md', policiesPage()],
    ['commands.md', commandsPage()],
    ['openapi.json', `${compactJson(openApiDocument())}\n`],
  ])
