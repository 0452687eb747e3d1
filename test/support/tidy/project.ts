import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { type SourceText, sourceText, stringLiterals } from '../files/source-text.js'
import { root, trackedFiles } from '../files/tracked-files.js'

/** The project's files as text, by path from the root. Checks take one, so that they can be tried on a made-up one. */
export interface Project {
  readonly files: ReadonlyMap<string, string>
  readonly sources: readonly Source[]
}

export interface Source {
  readonly path: string
  readonly text: SourceText
  /** What the file imports, type imports and dynamic ones included, as written. */
  readonly imports: readonly string[]
}

/** A check answers with one sentence for each fault, and with none for a tidy project. */
export type Check = (project: Project) => string[]

export function readProject(): Project {
  return projectOf(Object.fromEntries(trackedFiles().map((file) => [file, readFileSync(`${root}${file}`, 'utf8')])))
}

export function projectOf(files: Record<string, string>): Project {
  const sources = Object.entries(files)
    .filter(([path]) => /\.(?:ts|tsx|mjs)$/.test(path))
    .map(([path, content]) => {
      const text = sourceText(content)
      return { path, text, imports: importsOf(text) }
    })
  return { files: new Map(Object.entries(files)), sources }
}

function importsOf(text: SourceText): string[] {
  const openings = /(?:\bfrom|\bimport|\bimport\s*\(|\brequire\s*\()\s*(?=['"])/g
  const starts = new Set([...text.bare.matchAll(openings)].map((match) => match.index + match[0].length))
  return stringLiterals(text)
    .filter(({ at }) => starts.has(at))
    .map(({ value }) => value)
}

/** The file that a relative specifier means, or null where the project has none. `./x.js` is the source `./x.ts`. */
export function resolveRelative(project: Project, from: string, specifier: string): string | null {
  const path = posix.join(posix.dirname(from), specifier)
  const stem = path.replace(/\.(?:js|mjs)$/, '')
  const candidates = [path, `${stem}.ts`, `${stem}.tsx`, `${path}.ts`, `${path}.tsx`, `${path}/index.ts`]
  return candidates.find((candidate) => project.files.has(candidate)) ?? null
}

export const isTest = (path: string): boolean => /\.test\.tsx?$/.test(path)

/** `engine` for `packages/engine/src/json/hash.ts`; null outside the packages' sources. */
export const packageOf = (path: string): string | null => /^packages\/([^/]+)\/src\//.exec(path)?.[1] ?? null

/** What ships: the packages' sources without their tests. */
export const shipped = (project: Project): Source[] =>
  project.sources.filter(({ path }) => packageOf(path) !== null && !isTest(path))
