import { type Check, isTest, type Project, packageOf, resolveRelative, shipped } from './project.js'

/** The folders of each package, lowest first. A room named `a/b` stands for itself and is no part of the room `a`. */
export type Rooms = Readonly<Record<string, readonly string[]>>

export const ROOMS: Rooms = {
  protocol: ['base', 'http', 'contract', 'session', 'governance', 'dashboard'],
  engine: [
    'text',
    'json',
    'response',
    'contract',
    'flows',
    'compile',
    'explain',
    'state',
    'judge/rules',
    'judge',
    'ledger',
    'learn',
    'backtest',
    'starter',
  ],
  sdk: [
    'base',
    'contracts',
    'options',
    'providers',
    'providers/openai-chat',
    'providers/openai-responses',
    'providers/anthropic',
    'clients',
    'observe',
    'authority',
    'authority/local',
    'authority/remote',
    'session/core',
    'calls',
    'turn',
    'session',
    'adapters',
  ],
  server: [
    'base',
    'postgres',
    'schema',
    'store',
    'store/archives',
    'store/governance',
    'store/workflows',
    'store/questions',
    'store/sessions',
    'store/ledgers',
    'store/accounts',
    'store/captures',
    'store/runs',
    'store/dashboard',
    'context',
    'entry',
    'change',
    'ledgers',
    'archives',
    'accounts/keys',
    'accounts/members',
    'accounts',
    'captures',
    'packs',
    'workflows',
    'questions',
    'webhooks',
    'sessions',
    'governance',
    'runs',
    'dashboard/figures',
    'dashboard',
    'http',
    'process',
  ],
  gateway: ['base', 'http', 'wire', 'hooks', 'mcp/pins', 'mcp', 'process'],
  cli: ['policy', 'terminal', 'report', 'api', 'commands', 'commands/operator'],
  dashboard: ['api', 'text', 'styles', 'components/basic', 'components/form', 'components/layout', 'pages'],
}

/**
 * A file imports from its own room and from the rooms before it. Files directly in `src` are the top: they may import
 * everything, and no room may import them.
 */
export const roomDirections =
  (rooms: Rooms): Check =>
  (project) => [
    ...packagesOf(project)
      .filter((name) => rooms[name] === undefined)
      .map((name) => `packages/${name}: has no rooms; list its folders in ROOMS`),
    ...Object.entries(rooms).flatMap(([name, order]) => [
      ...emptyRooms(project, name, order),
      ...unnamedFolders(project, name, order),
      ...wrongWays(project, name, order),
    ]),
  ]

const packagesOf = (project: Project) => [...new Set(shipped(project).map(({ path }) => packageOf(path) ?? ''))]

function emptyRooms(project: Project, name: string, order: readonly string[]): string[] {
  const used = new Set([...project.files.keys()].map((path) => roomOf(path, name, order)))
  return order.filter((room) => !used.has(room)).map((room) => `packages/${name}: room ${room} holds no file`)
}

function unnamedFolders(project: Project, name: string, order: readonly string[]): string[] {
  return [...project.files.keys()]
    .filter((path) => packageOf(path) === name && roomOf(path, name, order) === null)
    .map((path) => `${path}: stands in a folder that is no room of ${name}`)
}

function wrongWays(project: Project, name: string, order: readonly string[]): string[] {
  const rank = (room: string) => (room === TOP ? order.length : order.indexOf(room))
  return edgesWithin(project, `packages/${name}/src/`).flatMap(([from, to]) => {
    const own = roomOf(from, name, order)
    const other = roomOf(to, name, order)
    if (own === null || other === null || rank(other) <= rank(own)) return []
    return [`${from}: ${own} stands below ${other} and may not import ${to}`]
  })
}

const TOP = 'src'

/** The room with the longest name that fits; `src` for a file directly in it; null elsewhere. */
function roomOf(path: string, name: string, order: readonly string[]): string | null {
  const base = `packages/${name}/src/`
  if (!path.startsWith(base)) return null
  const inside = path.slice(base.length)
  if (!inside.includes('/')) return TOP
  const fitting = order.filter((room) => inside.startsWith(`${room}/`))
  return fitting.reduce<string | null>((best, room) => (room.length > (best?.length ?? 0) ? room : best), null)
}

/** No file reaches itself over what it imports, for types or for values. */
export const importCircles: Check = (project) => {
  const known = new Set<string>()
  const next = groupBy(edgesWithin(project, 'packages/'), ([from]) => from)
  const found: string[] = []
  for (const start of next.keys()) {
    const circle = known.has(start) ? null : wayBack(start, next, known)
    if (circle === null) continue
    for (const path of circle) known.add(path)
    found.push(`an import circle: ${circle.join(' -> ')}`)
  }
  return found
}

type Edges = ReadonlyMap<string, readonly Edge[]>

/** The shortest way from a file back to itself, or null. */
function wayBack(start: string, next: Edges, avoid: ReadonlySet<string>): string[] | null {
  const cameFrom = new Map<string, string>()
  const waiting = [start]
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    for (const [, to] of next.get(path) ?? []) {
      if (to === start) return [...wayTo(path, start, cameFrom), start]
      if (cameFrom.has(to) || avoid.has(to)) continue
      cameFrom.set(to, path)
      waiting.push(to)
    }
  }
  return null
}

function wayTo(path: string, start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const way = [path]
  for (let at = path; at !== start; way.unshift(at)) at = cameFrom.get(at) ?? start
  return way
}

type Edge = readonly [from: string, to: string]

function edgesWithin(project: Project, folder: string): Edge[] {
  return shipped(project)
    .filter(({ path }) => path.startsWith(folder))
    .flatMap(({ path, imports }) =>
      imports
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => resolveRelative(project, path, specifier))
        .filter((to) => to?.startsWith(folder) === true)
        .map((to): Edge => [path, to as string]),
    )
}

const MOST_FILES = 20

/** A folder with more files than one can take in is sorted into rooms. Tests beside the code do not count. */
export const crowdedFolders: Check = (project) => {
  const counted = [...project.files.keys()].filter(
    (path) => /\.tsx?$/.test(path) && ((packageOf(path) !== null && !isTest(path)) || path.startsWith('test/')),
  )
  const folders = groupBy(counted, (path) => path.slice(0, path.lastIndexOf('/')))
  return [...folders]
    .filter(([, files]) => files.length > MOST_FILES)
    .map(([folder, files]) => `${folder}: ${files.length} files, above ${MOST_FILES}; sort them into folders`)
}

/** ARCHITECTURE.md gives every room its sentence: a row of a table, below the package's name, in the section "Rooms". */
export const roomSentences =
  (rooms: Rooms): Check =>
  (project) => {
    const written = writtenRooms(project.files.get('ARCHITECTURE.md') ?? '')
    return [
      ...Object.entries(rooms).flatMap(([name, order]) =>
        order
          .filter((room) => (written.get(name)?.get(room) ?? '') === '')
          .map((room) => `ARCHITECTURE.md: says nothing of the room ${room} of ${name}`),
      ),
      ...[...written].flatMap(([name, sentences]) =>
        [...sentences.keys()]
          .filter((room) => rooms[name]?.includes(room) !== true)
          .map((room) => `ARCHITECTURE.md: ${name} has no room ${room}`),
      ),
    ]
  }

/** By package, then by room, the sentence beside it. */
function writtenRooms(page: string): Map<string, Map<string, string>> {
  const section = page.split(/^## /m).find((part) => part.startsWith('Rooms\n')) ?? ''
  const parts = section.split(/^### /m).slice(1)
  return new Map(
    parts.map((part) => {
      const name = /^`?(?:packages\/)?([\w-]+)`?/.exec(part)?.[1] ?? ''
      const rows = part.matchAll(/^\| *`([^`]+)` *\|([^|\n]*)\|/gm)
      return [name, new Map([...rows].map(([, room = '', sentence = '']) => [room, sentence.trim()]))]
    }),
  )
}

/** `Map.groupBy` of later versions of Node. */
function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}
