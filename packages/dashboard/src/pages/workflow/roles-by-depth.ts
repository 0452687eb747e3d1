/** Roles in columns: each is right of every role that hands over to it, unless they form a cycle. */
export function rolesByDepth(
  roles: readonly string[],
  edges: readonly { readonly from: string; readonly to: string }[],
): string[][] {
  const depth = new Map<string, number>()
  const targets = new Set(edges.map(({ to }) => to))
  const starts = roles.filter((role) => !targets.has(role))
  const waiting = (starts.length === 0 ? roles.slice(0, 1) : starts).map((role) => ({
    role,
    at: 0,
    path: new Set([role]),
  }))
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { role, at, path } = next
    if ((depth.get(role) ?? -1) >= at) continue
    depth.set(role, at)
    for (const { from, to } of edges) {
      if (from === role && !path.has(to)) waiting.push({ role: to, at: at + 1, path: new Set([...path, to]) })
    }
  }
  const columns: string[][] = []
  for (const role of roles) {
    const at = depth.get(role) ?? 0
    columns[at] = [...(columns[at] ?? []), role]
  }
  return columns.filter((column) => column !== undefined)
}
