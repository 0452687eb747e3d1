export interface BoundedMap<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): void
}

/**
 * A map that forgets what has not been used for long: at most `limit` entries, of which the later half stays for sure.
 * Two maps that take turns, since deleting one by one costs more than all the rest of a capture.
 */
export function boundedMap<Key, Value>(limit: number): BoundedMap<Key, Value> {
  const half = Math.max(1, Math.ceil(limit / 2))
  let recent = new Map<Key, Value>()
  let older = new Map<Key, Value>()
  const set = (key: Key, value: Value): void => {
    recent.set(key, value)
    if (recent.size < half) return
    older = recent
    recent = new Map()
  }
  return {
    get: (key) => {
      const value = recent.get(key)
      if (value !== undefined) return value
      const old = older.get(key)
      if (old !== undefined) set(key, old)
      return old
    },
    set,
  }
}
