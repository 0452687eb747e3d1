/** Who has wrapped a client: observe patches it in place, a replay session holds the original and gives out a wrapper. */
export type Wrapping = 'observe' | 'replay' | 'wrapper'

const wrapped = new WeakMap<object, Wrapping>()

export function wrappingOf(client: object): Wrapping | null {
  return wrapped.get(client) ?? null
}

/** Null when the client was free; otherwise who has it, and nothing changes. */
export function wrapClient(client: object, by: Wrapping): Wrapping | null {
  const holder = wrappingOf(client)
  if (holder === null) wrapped.set(client, by)
  return holder
}

export function unwrapClient(client: object): void {
  wrapped.delete(client)
}

const originals = new WeakMap<object, (...args: unknown[]) => unknown>()

/** Remembers which method a patched one replaces on the client. */
export function notePatched(patched: object, original: (...args: unknown[]) => unknown): void {
  originals.set(patched, original)
}

/** The method itself, past whatever watches it. */
export function unpatched<Method extends (...args: unknown[]) => unknown>(method: Method): Method {
  const original = originals.get(method) as Method | undefined
  return original === undefined ? method : unpatched(original)
}
