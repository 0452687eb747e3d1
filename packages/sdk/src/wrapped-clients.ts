/** Who has its hands on a client: observe patches it in place, a replay session holds it. */
export type Wrapping = 'observe' | 'replay'

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
