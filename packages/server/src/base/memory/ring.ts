/** A list that anything can leave at once, and join at its end: in the order in which things were used last. */
export interface Link<Item> {
  next: Link<Item>
  previous: Link<Item>
  /** Null in the ring itself, which is the link before the first and behind the last. */
  item: Item | null
}

export type Ring<Item> = Link<Item>

/** An empty ring; also a link that is in none yet. */
export function createRing<Item>(): Link<Item> {
  const link = { item: null } as unknown as Link<Item>
  link.next = link
  link.previous = link
  return link
}

export function append<Item>(ring: Ring<Item>, link: Link<Item>): void {
  link.previous = ring.previous
  link.next = ring
  ring.previous.next = link
  ring.previous = link
}

/** Leaves the link in no ring. */
export function unlink<Item>(link: Link<Item>): void {
  link.previous.next = link.next
  link.next.previous = link.previous
  link.next = link
  link.previous = link
}
