import { parseArgs } from 'node:util'
import { issuerBody, TOKEN_ALGORITHMS } from '@countersign/protocol'
import { addIssuer, configOf, type Flags, issuersOf, removeIssuer } from '@countersign/server'
import { columns } from '../../terminal/columns.js'
import { type Command, UsageError } from '../../terminal/command.js'
import { snakeJson } from '../../terminal/snake-json.js'
import { DATABASE_USAGE, SETTING_FLAGS } from '../start.js'

export const issuer: Command = {
  usage: [
    `issuer add TENANT ISSUER --jwks URL --audience TEXT [--algorithms LIST] [--groups-claim NAME] ${DATABASE_USAGE}`,
    `issuer list TENANT [--json] ${DATABASE_USAGE}`,
    `issuer remove TENANT ISSUER ${DATABASE_USAGE}`,
  ],
  summary: 'list whose tokens prove for whom sessions act; add an issuer; remove one',
  help: () =>
    [
      'ISSUER is the claim `iss` of its tokens, URL where its public keys (JWKS) stand, and --audience their claim `aud`.',
      `LIST is RS256,ES256 if not given; it may name ${TOKEN_ALGORITHMS.join(', ')}.`,
      'NAME is the claim that lists the groups of a subject, `groups` if not given.',
      'The keys are read by https from public addresses; COUNTERSIGN_ALLOW_LOCAL_ISSUERS=on allows private ones.',
      'Sessions that a removed issuer has proven go on; new ones are refused.',
      'Exit codes: 0 done; 1 unknown tenant or issuer, or no database; 2 wrong usage.',
    ].join('\n'),
  run: async (args, { print, note }) => {
    const text = { type: 'string' } as const
    const own = {
      jwks: text,
      audience: text,
      algorithms: text,
      'groups-claim': text,
      json: { type: 'boolean' },
    } as const
    const options = { ...SETTING_FLAGS, ...own }
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { jwks, audience, algorithms, 'groups-claim': groupsClaim, json = false, ...settings } = values
    const config = configOf(settings as Flags)
    const [verb, tenantId, name, ...rest] = positionals
    const isPlain = [jwks, audience, algorithms, groupsClaim].every((value) => value === undefined)
    if (tenantId === undefined || rest.length > 0) throw new UsageError(EXPECTED)
    if (verb === 'add' && name !== undefined && !json) {
      const { issuer, jwks_uri, groups_claim, ...checked } = readIssuer({
        name,
        jwks,
        audience,
        algorithms,
        groupsClaim,
      })
      await addIssuer({ ...checked, tenantId, issuer, jwksUri: jwks_uri, groupsClaim: groups_claim }, config)
      note(`tenant ${tenantId} takes principal tokens of ${name} from now on`)
    } else if (verb === 'list' && name === undefined && isPlain) {
      const issuers = await issuersOf(tenantId, config)
      if (json) print(snakeJson(issuers))
      else if (issuers.length === 0) note('no issuer is listed: no token is taken')
      else for (const line of columns(issuers.map(lineOf))) print(line)
    } else if (verb === 'remove' && name !== undefined && isPlain && !json) {
      await removeIssuer(tenantId, name, config)
      note(`tokens of ${name} are refused from now on; sessions that they opened go on`)
    } else throw new UsageError(EXPECTED)
    return 0
  },
}

const EXPECTED =
  'expected: issuer add TENANT ISSUER --jwks URL --audience TEXT, issuer list TENANT, or issuer remove TENANT ISSUER'

interface Given {
  readonly name: string
  readonly jwks: string | undefined
  readonly audience: string | undefined
  readonly algorithms: string | undefined
  readonly groupsClaim: string | undefined
}

function readIssuer({ name, jwks, audience, algorithms = 'RS256,ES256', groupsClaim }: Given) {
  if (jwks === undefined || audience === undefined) throw new UsageError(EXPECTED)
  const checked = issuerBody.safeParse({
    issuer: name,
    jwks_uri: jwks,
    audience,
    algorithms: [...new Set(algorithms.split(','))],
    ...(groupsClaim !== undefined && { groups_claim: groupsClaim }),
  })
  if (checked.success) return checked.data
  throw new UsageError(WRONG[String(checked.error.issues[0]?.path[0])] ?? EXPECTED)
}

const LINE = 'must have 1 to 512 printable characters without blanks'
const WRONG: Readonly<Record<string, string>> = {
  issuer: `ISSUER ${LINE}`,
  jwks_uri: '--jwks must be a URL that starts with https://',
  audience: `--audience ${LINE}`,
  algorithms: `--algorithms must name some of ${TOKEN_ALGORITHMS.join(', ')}, apart by commas; shared secrets (HS256) prove nothing`,
  groups_claim: '--groups-claim must be the name of a claim',
}

type Issuer = Awaited<ReturnType<typeof issuersOf>>[number]

const lineOf = ({ issuer, jwksUri, audience, algorithms, groupsClaim, createdAt }: Issuer): string[] => [
  issuer,
  `keys ${jwksUri}`,
  `for ${audience}`,
  algorithms.join(','),
  `groups in ${groupsClaim}`,
  `added ${createdAt.toISOString()}`,
]
