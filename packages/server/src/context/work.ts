import { unauthenticated } from '../base/api-error.js'
import type { WorkOptions } from '../postgres/database.js'
import type { Sql, Tx } from '../postgres/sql.js'
import { holdSignIn } from '../store/accounts/refresh-tokens.js'
import { lockTenant } from '../store/accounts/tenants.js'
import type { Context, UserContext } from './context.js'

/** Runs `fn` in one transaction of the tenant. Everything inside uses its `tx`, no other connection. */
export function inTransaction<T>(ctx: Context, fn: (tx: Tx) => Promise<T>, options?: WorkOptions): Promise<T> {
  const { app, tenant, signIn } = ctx
  if (signIn === null) return app.database.transaction(tenant.tenantId, fn, options)
  const asSignedIn = async (tx: Tx) => {
    // A body may come slowly: a person who was signed out meanwhile writes nothing any more.
    if (!(await holdSignIn(tx, signIn))) throw unauthenticated()
    return fn(tx)
  }
  return app.database.transaction(tenant.tenantId, asSignedIn, options)
}

/** For changes of which a tenant makes one at a time. Its row is locked before the sign-in, so requests cannot wait in a circle. */
export const inTenantTransaction = <T>({ app, tenant, signIn }: UserContext, fn: (tx: Tx) => Promise<T>): Promise<T> =>
  app.database.transaction(tenant.tenantId, async (tx) => {
    if (!(await lockTenant(tx, tenant.tenantId)) || !(await holdSignIn(tx, signIn))) throw unauthenticated()
    return fn(tx)
  })

/** For lists and pages of a tenant: its share of the connections that read. */
export const inRead = <T>({ app, tenant }: Context, fn: (sql: Sql) => Promise<T>): Promise<T> =>
  app.database.read(tenant.tenantId, fn)

/** For what a request needs of its tenant by key: the tenant's share of the connections that write. */
export const inFind = <T>({ app, tenant }: Context, fn: (sql: Sql) => Promise<T>): Promise<T> =>
  app.database.find(tenant.tenantId, fn)

/** For a write that is one statement: the tenant's share of connections without BEGIN and COMMIT. */
export const inStatement = <T>({ app, tenant }: Context, fn: (sql: Sql) => Promise<T>): Promise<T> =>
  app.database.single(tenant.tenantId, fn)
