/** Who holds which items. Constant in time, since items come and go with every request. */
export interface Holders<Item> {
  /** As the newest of this holder. An item has one holder: it leaves the one before. */
  add(item: Item, holder: string): void
  remove(item: Item): void
  /** The oldest item of whoever holds most, and how many that are. */
  ofLargest(): { readonly oldest: Item; readonly held: number } | null
}

export function createHolders<Item>(): Holders<Item> {
  const holderOf = new Map<Item, string>()
  const itemsOf = new Map<string, Set<Item>>()
  /** Those that hold so many. */
  const bySize: Set<string>[] = []
  let most = 0

  const resize = (holder: string, before: number, after: number) => {
    bySize[before]?.delete(holder)
    if (after === 0) itemsOf.delete(holder)
    else {
      bySize[after] ??= new Set()
      bySize[after].add(holder)
    }
    most = Math.max(most, after)
    while (most > 0 && !bySize[most]?.size) most -= 1
  }

  const remove = (item: Item) => {
    const holder = holderOf.get(item)
    const items = holder === undefined ? undefined : itemsOf.get(holder)
    if (holder === undefined || items === undefined) return
    holderOf.delete(item)
    items.delete(item)
    resize(holder, items.size + 1, items.size)
  }

  return {
    add: (item, holder) => {
      remove(item)
      const items = itemsOf.get(holder) ?? new Set()
      itemsOf.set(holder, items.add(item))
      holderOf.set(item, holder)
      resize(holder, items.size - 1, items.size)
    },
    remove,
    ofLargest: () => {
      for (const holder of bySize[most] ?? [])
        for (const oldest of itemsOf.get(holder) ?? []) return { oldest, held: most }
      return null
    },
  }
}
