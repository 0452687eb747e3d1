import { builtinModules } from 'node:module'
import { type Check, type Project, packageOf, resolveRelative, type Source, shipped } from './project.js'

const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  engine: ['protocol'],
  server: ['protocol', 'engine'],
  sdk: ['protocol', 'engine'],
  cli: ['protocol', 'engine', 'server', 'sdk'],
  dashboard: ['protocol'],
}

/** A package imports only those before it, by their names, and never a file inside another one. */
export const packageDirections: Check = (project) =>
  shipped(project).flatMap((source) => {
    const own = packageOf(source.path) ?? ''
    const allowed = MAY_IMPORT[own]
    if (allowed === undefined) return [`${source.path}: package ${own} has no place in the directions yet`]
    return source.imports.flatMap((specifier) => {
      const named = /^@countersign\/([^/]+)(\/.*)?$/.exec(specifier)
      if (named !== null && (named[2] !== undefined || !allowed.includes(named[1] ?? '')))
        return [`${source.path}: ${own} may not import ${specifier}`]
      if (specifier.startsWith('.') && !staysInside(project, source, specifier))
        return [`${source.path}: ${specifier} leaves the package's sources`]
      return []
    })
  })

function staysInside(project: Project, source: Source, specifier: string): boolean {
  const target = resolveRelative(project, source.path, specifier)
  // An unknown target is left to the compiler, unless its path climbs out.
  if (target !== null) return packageOf(target) === packageOf(source.path)
  return specifier.split('/').filter((part) => part === '..').length < source.path.split('/').length - 3
}

/** A package imports only what its own package.json names: npm's flat folder would hide the mistake until it ships. */
export const declaredDependencies: Check = (project) =>
  shipped(project).flatMap(({ path, imports }) => {
    const manifest = JSON.parse(project.files.get(`packages/${packageOf(path)}/package.json`) ?? '{}')
    const fields = [manifest.dependencies, manifest.peerDependencies, manifest.devDependencies]
    const declared = new Set(fields.flatMap((field) => Object.keys(field ?? {})))
    return imports
      .filter((specifier) => !specifier.startsWith('.') && !isBuiltin(specifier))
      .map((specifier) => (/^(?:@[^/]+\/)?[^/]+/.exec(specifier) ?? [specifier])[0])
      .filter((name) => !declared.has(name))
      .map((name) => `${path}: imports ${name}, which packages/${packageOf(path)}/package.json does not name`)
  })

const isBuiltin = (specifier: string) => specifier.startsWith('node:') || builtinModules.includes(specifier)

const SERVER = 'packages/server/src/'

/** Who may not import whom inside the server: main -> app -> { http, operations } -> store. */
const CLOSED_TO: Readonly<Record<string, readonly string[]>> = {
  store: ['main', 'app', 'http', 'operations'],
  http: ['main', 'app', 'operations'],
  operations: ['main', 'app', 'http'],
  app: ['main'],
  rest: ['main', 'app', 'http', 'operations'],
}

export const serverRooms: Check = (project) =>
  edgesWithin(project, SERVER).flatMap(([from, to]) => {
    const closed = CLOSED_TO[roomOf(from)] ?? []
    return closed.includes(roomOf(to)) ? [`${from}: ${roomOf(from)} may not import ${roomOf(to)} (${to})`] : []
  })

function roomOf(path: string): string {
  const inside = path.slice(SERVER.length)
  if (['index.ts', 'main.ts', 'start-server.ts'].includes(inside)) return 'main'
  if (inside === 'app.ts') return 'app'
  return /^(http|operations|store)\//.exec(inside)?.[1] ?? 'rest'
}

/** An operation is what an index of operations/ gathers; what two of them share lies in a file that no index names. */
export const operationsApart: Check = (project) => {
  const edges = edgesWithin(project, `${SERVER}operations/`)
  const isIndex = (path: string) => path.endsWith('/index.ts')
  const operations = new Set(edges.filter(([from, to]) => isIndex(from) && !isIndex(to)).map(([, to]) => to))
  return edges
    .filter(([from, to]) => !isIndex(from) && operations.has(to))
    .map(([from, to]) => `${from}: an operation may not be imported by another file of operations/ (${to})`)
}

function edgesWithin(project: Project, folder: string): [from: string, to: string][] {
  return shipped(project)
    .filter(({ path }) => path.startsWith(folder))
    .flatMap(({ path, imports }) =>
      imports
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => resolveRelative(project, path, specifier))
        .filter((to) => to?.startsWith(folder) === true)
        .map((to): [string, string] => [path, to as string]),
    )
}
