/** Rows of the first table refer to rows of the second. */
export interface Reference {
  readonly from: string
  readonly to: string
}

/** Each table after the tables that its rows refer to. Throws when tables refer to each other in a cycle. */
export function referencedFirst<T extends { readonly table: string }>(
  tables: readonly T[],
  references: readonly Reference[],
): T[] {
  const ordered: T[] = []
  const waiting = [...tables]
  while (waiting.length > 0) {
    const isWaiting = (table: string) => waiting.some((other) => other.table === table)
    const next = waiting.findIndex(({ table }) => !references.some(({ from, to }) => from === table && isWaiting(to)))
    if (next < 0) throw new Error(`tables refer to each other in a cycle: ${waiting.map((t) => t.table).join(', ')}`)
    ordered.push(...waiting.splice(next, 1))
  }
  return ordered
}
