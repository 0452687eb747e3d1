import { randomBytes } from 'node:crypto'
import {
  pathOf,
  type Quota,
  type Reply,
  type RequestBody,
  ROUTES,
  type Route,
  type RouteName,
  type Routes,
} from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { makeApiKey, makeId } from '../../../packages/server/src/base/crypto/secrets.js'
import { createLog } from '../../../packages/server/src/base/log.js'
import type { AppParts } from '../../../packages/server/src/http/app.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import type { Mailer } from '../../../packages/server/src/process/mail/mailer.js'
import { createRuntime, type StartOptions } from '../../../packages/server/src/process/start-server.js'
import { insertKey } from '../../../packages/server/src/store/accounts/api-keys.js'
import { insertTenant } from '../../../packages/server/src/store/accounts/tenants.js'
import { createTestDatabase } from '../postgres/database.js'
import { appFetch } from './app-fetch.js'
import { isolateHere } from './isolate-here.js'

export interface RuntimeOptions {
  /** Servers on one database. */
  instances?: 1 | 2
  /** Settings by their environment names. */
  config?: Record<string, string>
  /** Quota of the tenant that is made; `scale`, so that only tests of the throttle meet it. */
  quota?: Quota
  parts?: Partial<AppParts>
  wrapDatabase?: StartOptions['wrapDatabase']
  /** Where the servers look for the database, in place of its own address: a proxy, for instance. */
  through?: (databaseUrl: string) => Promise<string>
  /** Threads take half a second to start: where a test does not ask for them, what is not answered in place runs here, too. */
  isolate?: 'threads' | NonNullable<StartOptions['isolate']>
  mailer?: Mailer
  /** Mails are files in the data folder of the `config`; what is said to the person who started the server. */
  outbox?: Pick<StartOptions, 'say' | 'terminal'>
}

export interface TestTenant {
  tenantId: string
  keyId: string
  key: string
}

export interface Instance {
  app: FastifyInstance
  parts: AppParts
  /** Standard fetch, answered by the app without a socket: hand it to the SDK as its `fetch`. */
  fetch: typeof fetch
  /** A real server on loopback, started at the first call. */
  listen(): Promise<string>
}

export interface Runtime extends TestTenant {
  databaseUrl: string
  /** Straight to the database, for what a test must see or break. */
  sql: Sql
  instances: readonly [Instance, ...Instance[]]
  /** The first instance's. */
  fetch: typeof fetch
  /** Every line logged so far. */
  logLines: string[]
  createTenant(options?: { quota?: Quota; verified?: boolean }): Promise<TestTenant>
  /** Routes by name, with the types of the protocol. */
  api(key?: string, instance?: Instance): Api
  close(): Promise<void>
}

/** The test's own, real SMTP where the test configures one, else mail goes nowhere. */
function mailerOf({ mailer, config, outbox }: RuntimeOptions): Pick<StartOptions, 'mailer' | 'say' | 'terminal'> {
  if (mailer) return { mailer }
  if (outbox) return outbox
  return config?.COUNTERSIGN_SMTP_URL ? {} : { mailer: { delivery: 'sent', send: async () => {}, close: () => {} } }
}

/** One or two servers on a database of their own, with a tenant and a key. */
export async function startRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const database = await createTestDatabase()
  const logLines: string[] = []
  const config = readConfig({
    COUNTERSIGN_POOL_SIZE: '12',
    // People who sign up in a test make more requests than `free` allows.
    COUNTERSIGN_DEFAULT_QUOTA: 'team',
    COUNTERSIGN_SCRYPT_COST: '10',
    COUNTERSIGN_SIGNING_KEYS: 'a signing key for tests of 32 letters and more',
    COUNTERSIGN_LEDGER_KEYS: `private:${'A'.repeat(43)}`,
    ...options.config,
  })
  const url = (await options.through?.(database.url)) ?? database.url
  const started = Array.from({ length: options.instances ?? 1 }, () =>
    startInstance(
      createRuntime(config, url, {
        log: createLog({ level: 'info', write: (line) => logLines.push(line) }),
        parts: { checkReplies: true, ...options.parts },
        isolate: options.isolate === 'threads' ? undefined : (options.isolate ?? isolateHere),
        ...mailerOf(options),
        ...(options.wrapDatabase ? { wrapDatabase: options.wrapDatabase } : {}),
      }),
    ),
  )
  const [first, ...more] = started
  if (!first) throw new Error('a runtime has at least one instance')
  const sql = connect({ url: database.url }, { max: 4 })
  const createTenant: Runtime['createTenant'] = (tenant = {}) =>
    storeTenant(sql, { quota: 'scale', verified: true, ...tenant })
  const tenant = await createTenant({ quota: options.quota ?? 'scale' })
  return {
    ...tenant,
    databaseUrl: database.url,
    sql,
    instances: [first, ...more],
    fetch: first.fetch,
    logLines,
    createTenant,
    api: (key = tenant.key, instance = first) => createApi(instance.fetch, key),
    close: async () => {
      for (const instance of started) await instance.close()
      await sql.end({ timeout: 5 })
      await database.drop()
    },
  }
}

function startInstance(runtime: ReturnType<typeof createRuntime>): Instance & { close(): Promise<void> } {
  let listening: Promise<string> | undefined
  return {
    app: runtime.app,
    parts: runtime.parts,
    fetch: appFetch(runtime.app),
    listen: () => {
      listening ??= runtime.app.listen({ host: '127.0.0.1', port: 0 }).then((url) => {
        runtime.listensAt(url)
        return url
      })
      return listening
    },
    close: async () => {
      const closed = runtime.app.close()
      runtime.app.server.closeAllConnections()
      await closed
      await runtime.close()
    },
  }
}

async function storeTenant(sql: Sql, { quota, verified }: { quota: Quota; verified: boolean }): Promise<TestTenant> {
  const tenantId = makeId(randomBytes, 'tnt')
  const keyId = makeId(randomBytes, 'key')
  const key = makeApiKey(randomBytes)
  await insertTenant(sql, { tenantId, name: 'test', quota, verified })
  await insertKey(sql, { tenantId, keyId, userId: null, name: 'test', prefix: key.prefix, keyHash: key.hash })
  return { tenantId, keyId, key: key.raw }
}

export const TEST_ORIGIN = 'http://127.0.0.1:4319'

export interface Answer<Body> {
  status: number
  headers: Headers
  /** The reply of the route when `status` is its own, problem details otherwise. */
  body: Body
  problem: Record<string, unknown>
}

type Call<R extends Route> = {
  params?: Record<string, string>
  query?: Record<string, string>
  body?: RequestBody<R>
  /** Sent as it is, in place of `body`. */
  rawBody?: string | undefined
  headers?: Record<string, string>
}
export type Api = { [Name in RouteName]: (call?: Call<Routes[Name]>) => Promise<Answer<Reply<Routes[Name]>>> }

export function createApi(send: typeof fetch, key: string): Api {
  const call =
    (name: RouteName) =>
    async (given: Call<Route> = {}) => {
      const response = await send(routeRequest(name, { key, ...given }))
      const text = await response.text()
      const body = text === '' ? null : JSON.parse(text)
      return { status: response.status, headers: response.headers, body, problem: body }
    }
  return Object.fromEntries((Object.keys(ROUTES) as RouteName[]).map((name) => [name, call(name)])) as unknown as Api
}

/** A request to a route as it would come over the wire. Path parameters that are not given are filled with an id. */
export function routeRequest(name: RouteName, given: Call<Route> & { key?: string | null; origin?: string }): Request {
  const route: Route = ROUTES[name]
  const unknown = Object.fromEntries(Object.keys(route.params?.shape ?? {}).map((name) => [name, 'unknown']))
  const url = new URL(pathOf(route, { ...unknown, ...given.params }), given.origin ?? TEST_ORIGIN)
  for (const [field, value] of Object.entries(given.query ?? {})) url.searchParams.set(field, value)
  const headers = new Headers()
  if (given.key) headers.set('authorization', `Bearer ${given.key}`)
  const text = given.rawBody ?? (given.body === undefined ? undefined : JSON.stringify(given.body))
  if (text !== undefined) headers.set('content-type', 'application/json')
  for (const [field, value] of Object.entries(given.headers ?? {})) headers.set(field, value)
  return new Request(url, { method: route.method, headers, ...(text === undefined ? {} : { body: text }) })
}
