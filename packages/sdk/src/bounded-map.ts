export interface BoundedMap<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): void
}

/** A map that forgets what has not been used for longest. */
export function boundedMap<Key, Value>(limit: number): BoundedMap<Key, Value> {
  const entries = new Map<Key, Value>()
  const touch = (key: Key, value: Value): void => {
    entries.delete(key)
    entries.set(key, value)
  }
  return {
    get: (key) => {
      const value = entries.get(key)
      if (value !== undefined) touch(key, value)
      return value
    },
    set: (key, value) => {
      touch(key, value)
      for (const oldest of entries.keys()) {
        if (entries.size <= limit) break
        entries.delete(oldest)
      }
    },
  }
}
