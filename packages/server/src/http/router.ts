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

/**
 * Nothing is remembered between requests: paths are a stranger's to choose (decision 0017). Names that are part of a
 * pattern are compared as they were sent, so that a proxy's rule for a path holds here, too; only parameters are decoded.
 */
export function createRouter<Target>(): Router<Target> {
  const root = emptyNode<Target>()
  return {
    add: (method, pattern, target) => {
      const segments = pattern.split('/')
      let node = root
      for (const segment of segments) node = childOf(node, segment)
      const names = segments.filter((segment) => segment.startsWith(':')).map((segment) => segment.slice(1))
      node.targets.set(method, { target, names })
    },
    find: (method, path) => {
      const values: string[] = []
      const { targets } = nodeAt(root, path, 0, values) ?? root
      const found = targets.get(method === 'HEAD' ? 'GET' : method) ?? targets.get('*')
      return found === undefined ? null : { target: found.target, params: named(found.names, values) }
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

/** The node of what is left of the path. A segment by its own name goes before one that may be anything. */
function nodeAt<Target>(node: Node<Target>, path: string, from: number, values: string[]): Node<Target> | null {
  if (from > path.length) return node.targets.size === 0 ? null : node
  const slash = path.indexOf('/', from)
  const end = slash === -1 ? path.length : slash
  const segment = path.slice(from, end)
  const fixed = node.fixed.get(segment)
  const found = fixed === undefined ? null : nodeAt(fixed, path, end + 1, values)
  if (found !== null || node.any === null || segment === '') return found
  values.push(segment.includes('%') ? decoded(segment) : segment)
  const through = nodeAt(node.any, path, end + 1, values)
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
