import { type Config, SETTINGS } from './config.js'
import type { Demo } from './demo.js'

interface Welcome {
  readonly url: string
  readonly config: Config
  readonly demo: Demo | null
  /** Started in the repository, where the demo is. */
  readonly byNpmStart: boolean
}

/** What the person at the terminal reads when the service is up: where it is, how to get in, what to do next. */
export function welcome({ url, config, demo, byNpmStart }: Welcome): string[] {
  return [
    '',
    `Countersign listens at ${url}`,
    '',
    `  dashboard   ${url}/`,
    ...(demo ? demoLines(demo) : []),
    `  reference   ${url}/docs`,
    '',
    'Next:',
    ...(demo && byNpmStart
      ? [`  ${demoCommand(config).padEnd(36)} an agent and three customers; in a second terminal`]
      : []),
    '  npx countersign tenant create NAME   a tenant of your own and its API key; in this folder',
    ...(config.databaseUrl === null ? ['', `The database is in ${config.dataFolder}. Ctrl-C stops both.`] : []),
    '',
  ]
}

/** The demo finds the service by its data folder. */
const demoCommand = ({ dataFolder }: Config): string =>
  dataFolder === SETTINGS.dataFolder.default ? 'npm run demo' : `npm run demo -- --data-folder ${dataFolder}`

const demoLines = ({ email, password, api_key }: Demo): string[] => [
  `  sign in     ${email}   password ${password}`,
  `  API key     ${api_key ?? 'none: the demo tenant has all the keys it may have; revoke one in the dashboard'}`,
  '              for the SDK as COUNTERSIGN_API_KEY; each start makes a new one and revokes the last; never in production',
]
