export type Params = Readonly<Record<string, string>>

/** Which target serves a request: by its method and by the pattern that its path has. */
export interface Router<Target> {
  /** `*` serves every method of the path that nothing else serves. */
  add(method: string, pattern: string, target: Target): void
  /** Null where no pattern fits. HEAD is served as GET is; Node leaves the body out. */
  find(method: string, path: string): Found<Target> | null
}

interface Found<Target> {
  readonly target: Target
  readonly params: Params
}

interface Node<Target> {
  readonly fixed: Map<string, Node<Target>>
  /** Any one segment that is not empty. */
  any: Node<Target> | null
  readonly targets: Map<string, { readonly target: Target; readonly names: readonly string[] }>
}

/** Paths that are remembered for each method: a session's come three times a turn. */
const MAX_REMEMBERED = 2_000

export function createRouter<Target>(): Router<Target> {
  const root = emptyNode<Target>()
  const remembered = new Map<string, Map<string, Found<Target>>>()

  const search = (method: string, path: string): Found<Target> | null => {
    const segments = path.split('/')
    if (path.includes('%')) for (const [at, segment] of segments.entries()) segments[at] = decoded(segment)
    const values: string[] = []
    const { targets } = nodeAt(root, segments, 0, values) ?? root
    const found = targets.get(method === 'HEAD' ? 'GET' : method) ?? targets.get('*')
    return found === undefined ? null : { target: found.target, params: named(found.names, values) }
  }

  return {
    add: (method, pattern, target) => {
      const segments = pattern.split('/')
      let node = root
      for (const segment of segments) node = childOf(node, segment)
      const names = segments.filter((segment) => segment.startsWith(':')).map((segment) => segment.slice(1))
      node.targets.set(method, { target, names })
    },
    find: (method, path) => {
      const paths = remembered.get(method)
      const known = paths?.get(path)
      if (known !== undefined) return known
      const found = search(method, path)
      if (found === null) return null
      if (paths === undefined || paths.size >= MAX_REMEMBERED) remembered.set(method, new Map([[path, found]]))
      else paths.set(path, found)
      return found
    },
  }
}

const emptyNode = <Target>(): Node<Target> => ({ fixed: new Map(), any: null, targets: new Map() })

function childOf<Target>(node: Node<Target>, segment: string): Node<Target> {
  if (segment.startsWith(':')) {
    node.any ??= emptyNode()
    return node.any
  }
  const child = node.fixed.get(segment) ?? emptyNode<Target>()
  node.fixed.set(segment, child)
  return child
}

/** A segment by its own name goes before one that may be anything. */
function nodeAt<Target>(node: Node<Target>, segments: string[], at: number, values: string[]): Node<Target> | null {
  const segment = segments[at]
  if (segment === undefined) return node.targets.size === 0 ? null : node
  const fixed = node.fixed.get(segment)
  const found = fixed === undefined ? null : nodeAt(fixed, segments, at + 1, values)
  if (found !== null || node.any === null || segment === '') return found
  values.push(segment)
  const through = nodeAt(node.any, segments, at + 1, values)
  if (through === null) values.pop()
  return through
}

function named(names: readonly string[], values: readonly string[]): Params {
  const params: Record<string, string> = {}
  for (let at = 0; at < names.length; at++) params[names[at] ?? ''] = values[at] ?? ''
  return params
}

/** What is no encoding stands for itself: an id that holds it is refused by its shape. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
