/**
 * Groups of nodes that lead to each other, each group after those that it leads to (Tarjan). `ways` are the nodes that
 * each node leads to. No nesting: a chain of ten thousand does not overflow the stack.
 */
export function componentsOf(ways: readonly (readonly number[])[]): number[][] {
  const found: number[][] = []
  const order = new Int32Array(ways.length)
  const lowest = new Int32Array(ways.length)
  const followed = new Int32Array(ways.length)
  const isOpen = new Uint8Array(ways.length)
  const open: number[] = []
  let visited = 0
  for (let start = 0; start < ways.length; start++) {
    const path = order[start] === 0 ? [start] : []
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      if (order[node] === 0) {
        visited++
        order[node] = visited
        lowest[node] = visited
        isOpen[node] = 1
        open.push(node)
      }
      const next = ways[node]?.[followed[node] as number]
      if (next !== undefined) {
        followed[node] = (followed[node] as number) + 1
        if (order[next] === 0) path.push(next)
        else if (isOpen[next] === 1) lowest[node] = Math.min(lowest[node] as number, order[next] as number)
        continue
      }
      path.pop()
      const before = path.at(-1)
      if (before !== undefined) lowest[before] = Math.min(lowest[before] as number, lowest[node] as number)
      if (lowest[node] !== order[node]) continue
      const component = open.splice(open.lastIndexOf(node))
      for (const member of component) isOpen[member] = 0
      found.push(component)
    }
  }
  return found
}

/** The names from which a way of at least one step leads back to them. `ways` are the names that each leads to. */
export function inCycles(ways: ReadonlyMap<string, Iterable<string>>): Set<string> {
  const names = [...ways.keys()]
  const places = new Map(names.map((name, at) => [name, at]))
  const numbered = names.map((name) => [...(ways.get(name) ?? [])].flatMap((next) => places.get(next) ?? []))
  const cycles = componentsOf(numbered).filter(
    ([first = 0, ...others]) => others.length > 0 || numbered[first]?.includes(first) === true,
  )
  return new Set(cycles.flat().map((at) => names[at] as string))
}
