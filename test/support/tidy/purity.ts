import { type Check, packageOf, type Source, shipped } from './project.js'

/** The only readers of the environment; everything else is handed what it needs. */
const ENVIRONMENT_READERS = new Set([
  'packages/server/src/main.ts',
  'packages/sdk/src/options/environment.ts',
  'packages/gateway/src/main.ts',
  'packages/cli/src/main.ts',
])

export const environmentReaders: Check = (project) =>
  shipped(project)
    .filter(({ path }) => !ENVIRONMENT_READERS.has(path))
    .flatMap((source) => [
      ...matches(source, /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*(?:\?\.)?\[/g, 'reads process.env'),
      ...matches(source, /\bimport\b[^;]*?\benv\b[^;]*?\bfrom\s*(?=['"] {12}['"])/g, 'imports env from node:process'),
    ])

/** The engine judges by its inputs alone: no clock, no chance, no I/O. */
export const enginePurity: Check = (project) =>
  shipped(project)
    .filter(({ path }) => packageOf(path) === 'engine')
    .flatMap((source) => [
      ...source.imports
        .filter((specifier) => specifier.startsWith('node:') && !PURE_MODULES.has(specifier))
        .map((specifier) => `${source.path}: the engine may not import ${specifier}`),
      ...IMPURE.flatMap(([pattern, what]) => matches(source, pattern, what)),
    ])

const PURE_MODULES = new Set(['node:crypto', 'node:buffer', 'node:util'])

const IMPURE: readonly [RegExp, string][] = [
  [/\bDate\s*\.\s*now\b/g, 'reads the clock (Date.now)'],
  [/\bnew\s+Date\s*(?:\(\s*\)|(?!\s*\())/g, 'reads the clock (new Date())'],
  [/(?<!new\s+)(?<![.\w])Date\s*\(/g, 'reads the clock (Date())'],
  [/\bperformance\s*\.\s*(?:now|timeOrigin)\b/g, 'reads the clock (performance)'],
  [/\bprocess\s*\./g, 'touches the process'],
  [/\bMath\s*\.\s*random\b/g, 'draws a random number'],
  [/\b(?:randomBytes|randomUUID|randomInt|getRandomValues)\b/g, 'draws random bytes'],
  [/(?<![.\w])(?:fetch|setTimeout|setInterval|setImmediate)\s*\(/g, 'does I/O or waits'],
]

/** Numbers that somebody else chose can be made to collide in a set or map (`numberKey` in the engine has the way round). */
export const valuesAsKeys: Check = (project) =>
  shipped(project)
    .filter(({ path }) => /^packages\/(?:engine|server|gateway)\//.test(path))
    .flatMap((source) =>
      matches(
        source,
        /\bnew\s+(?:Set|Map)<\s*(?:JsonValue|unknown)\b/g,
        'has values of any kind as keys of a set or map',
      ),
    )

/** The connections on which everybody is let in are for the process itself; what a tenant asks has a share of others. */
export const sharedConnections: Check = (project) =>
  shipped(project)
    .filter(({ path }) => path.startsWith('packages/server/src/') && !ASKS_FOR_ALL.test(path))
    .flatMap((source) =>
      matches(
        source,
        /\bdatabase\s*\.\s*sql\b|\bdatabase\s*:\s*\{[^}]*\bsql\b|\{[^}]*\bsql\b[^}]*\}\s*=\s*[\w.]*\bdatabase\b/g,
        'asks on the connections that let everybody in',
      ),
    )

const ASKS_FOR_ALL = /^packages\/server\/src\/(?:process\/|postgres\/|entry\/key-usage\.ts|http\/pages\.ts)/

/** A row's place means nothing on a database that is divided between machines. */
export const rowsByKey: Check = ({ files }) =>
  [...files]
    .filter(([path, text]) => path.startsWith('packages/server/') && /\bctid\b/.test(text))
    .map(([path]) => `${path}: finds rows by their place (ctid)`)

function matches({ path, text }: Source, pattern: RegExp, what: string): string[] {
  return [...text.bare.matchAll(pattern)].map((match) => `${path}:${lineAt(text.bare, match.index)}: ${what}`)
}

const lineAt = (text: string, index: number) => text.slice(0, index).split('\n').length
