import { builtinModules } from 'node:module'
import { type Check, type Project, packageOf, resolveRelative, type Source, shipped } from './project.js'

const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  engine: ['protocol'],
  server: ['protocol', 'engine'],
  sdk: ['protocol', 'engine'],
  gateway: ['protocol', 'engine', 'sdk'],
  cli: ['protocol', 'engine', 'server', 'sdk', 'gateway'],
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
      if (named !== null && (!isEntry(project, named) || !allowed.includes(named[1] ?? '')))
        return [`${source.path}: ${own} may not import ${specifier}`]
      if (specifier.startsWith('.') && !staysInside(project, source, specifier))
        return [`${source.path}: ${specifier} leaves the package's sources`]
      return []
    })
  })

/** The package itself, or an entry that its `exports` name. */
function isEntry(project: Project, [, name, path]: RegExpExecArray): boolean {
  if (path === undefined) return true
  const { exports } = JSON.parse(project.files.get(`packages/${name}/package.json`) ?? '{}')
  return Object.hasOwn(exports ?? {}, `.${path}`)
}

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

const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/'))

/** An operation is what a room's index gathers; what two of them share lies in a file that no index names. */
export const operationsApart: Check = (project) => {
  const edges = edgesWithin(project, SERVER)
  const isIndex = (path: string) => /^[^/]+\/index\.ts$/.test(path.slice(SERVER.length))
  const operations = new Set(
    edges.filter(([from, to]) => isIndex(from) && folderOf(to) === folderOf(from)).map(([, to]) => to),
  )
  return edges
    .filter(([from, to]) => !isIndex(from) && operations.has(to))
    .map(([from, to]) => `${from}: an operation is imported by its room's index alone (${to})`)
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
