import { type Config, SETTINGS } from '../base/config.js'
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
  // Commands look for the service in the usual folder.
  const { dataFolder } = config
  const folder = dataFolder === SETTINGS.dataFolder.default ? '' : `--data-folder ${dataFolder}`
  const isOwn = config.databaseUrl === null
  return [
    '',
    `Countersign listens at ${url}`,
    '',
    `  dashboard   ${url}/`,
    ...(demo ? demoLines(demo) : []),
    ...(url === USUAL_URL ? [] : [`  programs    look at ${USUAL_URL} unless told: export COUNTERSIGN_API_URL=${url}`]),
    `  reference   ${url}/docs`,
    '',
    'Next:',
    ...(demo && byNpmStart ? [step(`npm run demo${folder && ` -- ${folder}`}`, DEMO)] : []),
    step(
      `npx countersign tenant create NAME${isOwn && folder !== '' ? ` ${folder}` : ''}`,
      `a tenant of your own and its API key; ${isOwn ? 'in this folder' : 'with the same DATABASE_URL'}`,
    ),
    ...(isOwn ? ['', `The database is in ${config.dataFolder}. Ctrl-C stops both.`] : []),
    '',
  ]
}

/** Where programs look for the service by default. */
const USUAL_URL = `http://${SETTINGS.host.default}:${SETTINGS.port.default}`

const step = (command: string, what: string): string => `  ${command.padEnd(36)} ${what}`

const DEMO = 'an agent and three customers; in a second terminal'

const demoLines = ({ email, password, api_key }: Demo): string[] => [
  `  sign in     ${email}   password ${password}`,
  `  API key     ${api_key ?? 'none: the demo tenant has all the keys it may have; revoke one in the dashboard'}`,
  '              for the SDK as COUNTERSIGN_API_KEY; each start makes a new one and revokes the last; never in production',
]
