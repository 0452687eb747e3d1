import type { Config } from './config.js'
import type { Demo } from './demo.js'

/** What the person at the terminal reads when the service is up: where it is, how to get in, what to do next. */
export function welcome({ url, config, demo }: { url: string; config: Config; demo: Demo | null }): string[] {
  return [
    '',
    `Countersign listens at ${url}`,
    '',
    `  dashboard   ${url}/`,
    ...(demo ? demoLines(demo) : []),
    `  reference   ${url}/docs`,
    '',
    'Next:',
    ...(demo ? [`  npm run demo                         an agent and three customers; in a second terminal`] : []),
    '  countersign tenant create NAME       a tenant of your own and its API key (npx countersign … in this folder)',
    ...(config.databaseUrl === null ? ['', `The database is in ${config.dataFolder}. Ctrl-C stops both.`] : []),
    '',
  ]
}

const demoLines = ({ email, password, api_key }: Demo): string[] => [
  `  sign in     ${email}   password ${password}`,
  `  API key     ${api_key ?? 'none: the demo tenant has all the keys it may have; revoke one in the dashboard'}`,
  '              a new one at every start; for the SDK as COUNTERSIGN_API_KEY; never made in production',
]
