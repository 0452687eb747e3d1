import { closestName } from '@countersign/engine'
import { SETTINGS } from '../base/config.js'

/** Of the SDK and the command line, which may share an environment with the service. */
const OTHERS = ['COUNTERSIGN_API_KEY', 'COUNTERSIGN_API_URL', 'COUNTERSIGN_DISABLE', 'COUNTERSIGN_ENVIRONMENT']

/** Variables that look like settings and are near one: most likely misspelt, and then the default would hold unseen. */
export function strayVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = [...Object.values(SETTINGS).map((row) => row.env), ...OTHERS]
  return Object.keys(env)
    .filter((name) => name.startsWith('COUNTERSIGN_') && !known.includes(name))
    .flatMap((name) => {
      const near = closestName(bare(name), known.map(bare))
      const meant = known.find((candidate) => bare(candidate) === near)
      return meant === undefined ? [] : [`${name} is set and is no setting: did you mean ${meant}?`]
    })
}

/** What all have in common makes none the nearer. */
const bare = (name: string): string => name.replace(/^COUNTERSIGN_/, '')
