/** Reads a record keyed by untrusted names: `__proto__` and `toString` are just names. */
export function lookUp<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

/** Sets an own entry under any name: a plain assignment to `__proto__` would be lost. */
export function setEntry<T>(record: Record<string, T>, name: string, value: T): void {
  if (name in Object.prototype) {
    Object.defineProperty(record, name, { value, writable: true, enumerable: true, configurable: true })
  } else record[name] = value
}
