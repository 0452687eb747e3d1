import type { Sql } from '../sql.js'

/**
 * Lets V8 compile the driver's classes of statements and results. Each has a static member with a computed name, so its
 * constructor starts as a slow object, and V8 (in Node 20, 22 and 24) compiles whatever makes one of them again and
 * again and throws it away each time, for as long as the process lives.
 */
export async function makeDriverFast(sql: Sql): Promise<void> {
  const statement = sql.unsafe('select 1')
  makeFast(statement.constructor as Constructor)
  makeFast((await statement).constructor as Constructor)
}

type Constructor = (new () => object) & { readonly [Symbol.species]?: unknown }

/** What is read through an heir is laid out for quick reading. */
export function makeFast(parent: Constructor): unknown {
  const Heir: Constructor = class extends parent {}
  return Heir[Symbol.species]
}
