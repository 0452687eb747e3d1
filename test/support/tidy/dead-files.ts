import { stringLiterals } from '../files/source-text.js'
import { type Check, isTest, type Project, resolveRelative, type Source } from './project.js'

/** Written just before the code that will use them. An entry goes as soon as its file is reached. */
export const AWAITED: ReadonlySet<string> = new Set([])

/** Every source is reached from an entry point, a test, a script, a benchmark or an example. */
export const deadFiles: Check = (project) => {
  const byPath = new Map(project.sources.map((source) => [source.path, source]))
  const reached = new Set<string>()
  const waiting = project.sources.map(({ path }) => path).filter(isRoot)
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue
    reached.add(path)
    const source = byPath.get(path)
    if (source !== undefined) waiting.push(...reachedFrom(project, source))
  }
  const paths = project.sources.map(({ path }) => path).filter((path) => !path.endsWith('.d.ts'))
  return [
    ...paths
      .filter((path) => !reached.has(path) && !AWAITED.has(path))
      .map((path) => `${path}: nothing reaches this file; import it or delete it`),
    ...paths
      .filter((path) => reached.has(path) && AWAITED.has(path))
      .map((path) => `${path}: is reached now; take it off the list of awaited files`),
  ]
}

const isRoot = (path: string): boolean =>
  isTest(path) ||
  /^packages\/[^/]+\/src\/(?:adapters\/[\w-]+\/)?(?:index|main)\.tsx?$/.test(path) ||
  /^(?:scripts|bench|examples|\.ci)\//.test(path) ||
  /(?:^|\/)[\w-]+\.config\.(?:ts|mjs)$/.test(path)

/** Not only imports: workers, `new URL('./x.js', …)` and the set-up files of a configuration are named by strings, too. */
function reachedFrom(project: Project, { path, text }: Source): string[] {
  return stringLiterals(text).flatMap(({ value }) => {
    const named = /^@countersign\/([\w-]+)$/.exec(value)?.[1]
    if (named !== undefined) return [`packages/${named}/src/index.ts`]
    // What is built of a source is named where it will be.
    const source = value.replace('/dist/bundle/', '/src/')
    return value.startsWith('.') ? (resolveRelative(project, path, source) ?? []) : []
  })
}
