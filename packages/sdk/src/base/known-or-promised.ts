/** What is often known at once. Waiting for it all the same costs more than most answers do. */
export type KnownOrPromised<T> = T | Promise<T>

export function isPromised<T>(value: KnownOrPromised<T>): value is Promise<T> {
  return value instanceof Promise
}
