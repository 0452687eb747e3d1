import { type Config, SETTINGS } from '../base/config.js'
import type { Demo } from './demo.js'

interface Welcome {
  readonly url: string
  readonly config: Config
  readonly demo: Demo | null
  /** Started in the repository, where the demo is. */
  readonly byNpmStart: boolean
}

/** Printed when the server is ready: its address, how to sign in, and what to do next. */
export function welcome({ url, config, demo, byNpmStart }: Welcome): string[] {
  // Commands look for the database in the default folder.
  const { dataFolder } = config
  const folder = dataFolder === SETTINGS.dataFolder.default ? '' : `--data-folder ${dataFolder}`
  const isOwn = config.databaseUrl === null
  return [
    '',
    `Countersign is running at ${url}`,
    '',
    `  dashboard   ${url}/`,
    ...(demo ? demoLines(demo) : []),
    ...(url === DEFAULT_URL ? [] : [`  programs    use ${DEFAULT_URL} by default: export COUNTERSIGN_API_URL=${url}`]),
    `  reference   ${url}/docs`,
    '',
    'Next:',
    ...(demo && byNpmStart ? [step(`npm run demo${folder && ` -- ${folder}`}`, DEMO)] : []),
    step(
      `npx countersign tenant create NAME${isOwn && folder !== '' ? ` ${folder}` : ''}`,
      `your own tenant and its API key; ${isOwn ? 'in this folder' : 'with the same DATABASE_URL'}`,
    ),
    step('npx countersign gateway', 'govern an agent in any language by its base URL; with COUNTERSIGN_API_KEY set'),
    ...(isOwn ? ['', `The database is in ${config.dataFolder}. Ctrl-C stops both.`] : []),
    '',
  ]
}

/** The address programs use by default. */
const DEFAULT_URL = `http://${SETTINGS.host.default}:${SETTINGS.port.default}`

const step = (command: string, what: string): string => `  ${command.padEnd(35)}  ${what}`

const DEMO = 'an agent serves three customers; run it in a second terminal'

const demoLines = ({ email, password, api_key }: Demo): string[] => [
  `  sign in     ${email}   password ${password}`,
  `  API key     ${api_key ?? 'none: the demo tenant has reached its limit of keys; revoke one in the dashboard'}`,
  '              set it as COUNTERSIGN_API_KEY; it stays the same for this data folder; not in production',
]
