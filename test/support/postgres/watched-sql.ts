import type { Database } from '../../../packages/server/src/postgres/database.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'

/** Tells of every statement that goes through this pool outside a transaction, by its text. */
export function watchedSql(sql: Sql, note: (text: string) => void): Sql {
  const plain = (text: string) => text.replaceAll(/\s+/g, ' ').trim()
  return new Proxy(sql, {
    apply(target, self, given) {
      const [parts] = given as [readonly string[] & { raw?: readonly string[] }]
      if (parts?.raw !== undefined) note(plain(parts.join('?')))
      return Reflect.apply(target, self, given)
    },
    get(target, name) {
      if (name !== 'unsafe') return Reflect.get(target, name)
      return (...given: Parameters<Sql['unsafe']>) => {
        note(plain(given[0]))
        return target.unsafe(...given)
      }
    },
  })
}

/** The database with all statements outside a transaction going through what `wrap` makes of their pool. */
export const throughSql = (database: Database, wrap: (sql: Sql) => Sql): Database => ({
  ...database,
  sql: wrap(database.sql),
  enter: (sender, fn) => database.enter(sender, (sql) => fn(wrap(sql))),
  read: (tenantId, fn) => database.read(tenantId, (sql) => fn(wrap(sql))),
  find: (tenantId, fn) => database.find(tenantId, (sql) => fn(wrap(sql))),
})
