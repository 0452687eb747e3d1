import { append, createRing, type Link, type Ring, unlink } from './ring.js'

/** A bounded memory that forgets what was used longest ago. Whatever it forgets can be had again. */
export interface Cache<Value> {
  /** Counts as a use. */
  find(key: string): Value | undefined
  /** What weighs more than the whole memory is not remembered. */
  remember(key: string, value: Value, cost: Cost): void
  forget(key: string): void
  /** From the one that was used longest ago to the one used last. */
  values(): IterableIterator<Value>
  bytes(): number
}

export interface Cost {
  /** Whose share it counts against: a tenant, or an address before it is known who asks. */
  readonly owner: string
  /** About what the value takes in memory, with all that it alone refers to. */
  readonly bytes: number
}

export interface CacheOptions<Value> {
  readonly boundBytes: number
  /** The part that one owner may hold while others need it. */
  readonly share: number
  /** Called for what had to go for something newer; not for what is forgotten or replaced. */
  readonly onEvicted?: (value: Value) => void
}

interface Owner<Value> {
  readonly name: string
  readonly entries: Ring<Entry<Value>>
  bytes: number
}

interface Entry<Value> {
  readonly key: string
  readonly owner: Owner<Value>
  readonly inAll: Link<Entry<Value>>
  readonly inOwner: Link<Entry<Value>>
  value: Value
  bytes: number
}

/** What an entry takes beside its value and the characters of its key. */
const ENTRY_BYTES = 250

/**
 * An owner may fill the whole memory while nobody else needs it. When it is full, an owner that holds more than its share
 * loses its oldest entries first; where nobody does, the oldest of all goes. Every step takes constant time.
 */
export function createCache<Value>({ boundBytes, share, onEvicted }: CacheOptions<Value>): Cache<Value> {
  const entries = new Map<string, Entry<Value>>()
  const owners = new Map<string, Owner<Value>>()
  /** A handful at most: those that hold more than their share. */
  const aboveShare = new Set<Owner<Value>>()
  const all: Ring<Entry<Value>> = createRing()
  const shareBytes = boundBytes * share
  let total = 0

  const ownerOf = (name: string): Owner<Value> => {
    const known = owners.get(name)
    if (known !== undefined) return known
    const owner: Owner<Value> = { name, entries: createRing(), bytes: 0 }
    owners.set(name, owner)
    return owner
  }

  const weigh = (owner: Owner<Value>, change: number) => {
    const before = owner.bytes
    owner.bytes += change
    total += change
    if (before <= shareBytes && owner.bytes > shareBytes) aboveShare.add(owner)
    else if (before > shareBytes && owner.bytes <= shareBytes) aboveShare.delete(owner)
  }

  const touch = (entry: Entry<Value>) => {
    unlink(entry.inAll)
    append(all, entry.inAll)
    unlink(entry.inOwner)
    append(entry.owner.entries, entry.inOwner)
  }

  const add = (key: string, value: Value, owner: Owner<Value>) => {
    const entry: Entry<Value> = { key, owner, inAll: createRing(), inOwner: createRing(), value, bytes: 0 }
    entry.inAll.item = entry
    entry.inOwner.item = entry
    entries.set(key, entry)
    touch(entry)
    return entry
  }

  const drop = (entry: Entry<Value>) => {
    entries.delete(entry.key)
    unlink(entry.inAll)
    unlink(entry.inOwner)
    weigh(entry.owner, -entry.bytes)
    if (entry.owner.entries.next === entry.owner.entries) owners.delete(entry.owner.name)
  }

  const evictOne = () => {
    let largest: Owner<Value> | null = null
    for (const owner of aboveShare) if (largest === null || owner.bytes > largest.bytes) largest = owner
    const oldest = (largest?.entries ?? all).next.item
    if (oldest === null) return
    drop(oldest)
    onEvicted?.(oldest.value)
  }

  return {
    find: (key) => {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      touch(entry)
      return entry.value
    },
    remember: (key, value, cost) => {
      const bytes = cost.bytes + ENTRY_BYTES + key.length
      let entry = entries.get(key)
      if (entry !== undefined && (entry.owner.name !== cost.owner || bytes > boundBytes)) {
        drop(entry)
        entry = undefined
      }
      if (bytes > boundBytes) {
        onEvicted?.(value)
        return
      }
      if (entry === undefined) entry = add(key, value, ownerOf(cost.owner))
      else touch(entry)
      entry.value = value
      weigh(entry.owner, bytes - entry.bytes)
      entry.bytes = bytes
      while (total > boundBytes) evictOne()
    },
    forget: (key) => {
      const entry = entries.get(key)
      if (entry !== undefined) drop(entry)
    },
    values: function* () {
      for (let link = all.next; link.item !== null; link = link.next) yield link.item.value
    },
    bytes: () => total,
  }
}
