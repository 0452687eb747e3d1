import { randomUUID } from 'node:crypto'
import { ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../packages/server/src/base/config.js'
import { createLog } from '../../packages/server/src/base/log.js'
import { createMemories } from '../../packages/server/src/base/memories.js'
import { createPrepaidTokens, NO_PREPAID_TOKENS } from '../../packages/server/src/entry/prepaid-tokens.js'
import { handlers } from '../../packages/server/src/http/handlers.js'
import { createRuntime } from '../../packages/server/src/process/start-server.js'
import { type PostgresProxy, startPostgresProxy } from '../support/postgres/postgres-proxy.js'
import { appFetch } from '../support/runtime/app-fetch.js'
import { type GovernedSession, LOOKUP, openSession, receiptFor } from '../support/runtime/governed-session.js'
import { NOTHING_BESIDE } from '../support/runtime/nothing-beside.js'
import { createApi, type Runtime, routeRequest, startRuntime } from '../support/runtime/runtime.js'
import { VALID_BODIES } from '../support/runtime/valid-bodies.js'

/** A server whose PostgreSQL can go away, beside the ordinary one that makes the tenant. */
let runtime: Runtime
let proxy: PostgresProxy
let far: ReturnType<typeof createRuntime>
const logLines: string[] = []
beforeAll(async () => {
  runtime = await startRuntime()
  proxy = await startPostgresProxy(runtime.databaseUrl)
  far = createRuntime(readConfig({ COUNTERSIGN_POOL_SIZE: '6' }), proxy.url, {
    log: createLog({ level: 'info', write: (line) => logLines.push(line) }),
    parts: { ...NOTHING_BESIDE, checkReplies: true, prepaidTokens: NO_PREPAID_TOKENS },
  })
})
afterAll(async () => {
  await far.close()
  await proxy.close()
  await runtime.close()
})

const fetchFar: typeof fetch = (input, init) => appFetch(far.app)(input, init)
const apiFar = () => createApi(fetchFar, runtime.key)

const routes = (Object.entries(ROUTES) as [RouteName, Route][]).filter(
  ([name, route]) => route.auth === 'api_key' && name in handlers,
)

describe('with PostgreSQL away', () => {
  let session: GovernedSession
  beforeAll(async () => {
    session = await openSession(runtime.api())
    proxy.cut()
  })
  afterAll(() => proxy.resume())

  test.each(routes.map(([name]) => name))('%s is 503 at once and allows nothing', async (name) => {
    const body = VALID_BODIES[name]
    if (ROUTES[name].method === 'POST') expect(body, `add a valid body for ${name}`).toBeDefined()
    const given = {
      key: runtime.key,
      params: { session_id: session.sessionId },
      ...(body === undefined ? {} : { body }),
    }
    const startedAt = performance.now()
    const response = await fetchFar(routeRequest(name, given as never))
    const text = await response.text()
    expect([response.status, JSON.parse(text).code]).toEqual([503, 'UNAVAILABLE'])
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    expect(text).not.toMatch(/allow|postgres|ECONN|select|at \w+ \(/i)
    expect(response.headers.get('retry-after')).not.toBeNull()
  })

  test('readiness says so, and liveness does not', async () => {
    expect((await fetchFar(new Request('http://127.0.0.1/readyz'))).status).toBe(503)
    expect((await fetchFar(new Request('http://127.0.0.1/healthz'))).status).toBe(200)
  })
})

test('when PostgreSQL is back the same server serves, without a restart', async () => {
  const api = apiFar()
  expect((await openSession(api)).created.session.status).toBe('ACTIVE')
  for (let outage = 0; outage < 3; outage++) {
    const session = await openSession(api)
    proxy.cut()
    expect((await session.preflight()).status).toBe(503)
    proxy.resume()
    expect(await session.turn([LOOKUP])).toMatchObject({ committed: true, state_version: 1 })
  }
})

describe('the connection breaks after PostgreSQL has done the write, before it could say so', () => {
  test('of a proposal: 503, and the retry carries the decisions', async () => {
    const session = await openSession(apiFar())
    const id = randomUUID()
    await session.preflight({ prepared_request_id: id })
    const first = await losing(() => session.propose(id, [LOOKUP]))
    expect(first.status).toBe(503)
    const again = await session.propose(id, [LOOKUP])
    expect([again.status, again.problem.code]).toEqual([409, 'PREPARED_REQUEST_CONSUMED'])
    expect(again.problem.proposal).toMatchObject({ decisions: [{ decision: 'allow' }] })
  })

  test('of receipts: 503, and the retry gets the stored answer', async () => {
    const session = await openSession(apiFar())
    const { decisions } = await session.decide([LOOKUP])
    const first = await losing(() => session.receipts([receiptFor(decisions[0]!)]))
    expect(first.status).toBe(503)
    expect((await session.receipts([receiptFor(decisions[0]!)])).body).toMatchObject({
      committed: true,
      state_version: 1,
    })
  })

  test('of a proposal whose only statement is its write: 503, and the retry carries the decisions', async () => {
    const swift = createRuntime(readConfig({ COUNTERSIGN_POOL_SIZE: '6' }), proxy.url, {
      log: createLog({ level: 'silent' }),
      parts: {
        ...NOTHING_BESIDE,
        checkReplies: true,
        prepaidTokens: createPrepaidTokens(createMemories().cache('prepaid_tokens'), () => 0),
      },
    })
    const api = createApi(appFetch(swift.app), runtime.key)
    const session = await openSession(api)
    for (let turn = 0; turn < 2; turn++) await session.turn([LOOKUP])
    const id = randomUUID()
    await session.preflight({ prepared_request_id: id })
    proxy.loseNextAnswer()
    expect((await session.propose(id, [LOOKUP])).status).toBe(503)
    expect((await session.propose(id, [LOOKUP])).problem).toMatchObject({
      code: 'PREPARED_REQUEST_CONSUMED',
      proposal: { decisions: [{ decision: 'allow' }] },
    })
    await swift.close()
  })

  /** The second statement of a request is its write; the first, with the key, is let through. */
  async function losing<T>(send: () => Promise<T>): Promise<T> {
    const executed = proxy.executed()
    const sent = send()
    while (proxy.executed() === executed) await new Promise((done) => setImmediate(done))
    proxy.loseNextAnswer()
    return sent
  }
})

test('a database that became read-only is 503', async () => {
  const session = await openSession(runtime.api())
  const name = new URL(runtime.databaseUrl).pathname.slice(1)
  await runtime.sql`alter database ${runtime.sql(name)} set default_transaction_read_only = on`
  try {
    proxy.cut()
    proxy.resume()
    const api = apiFar()
    const answer = await api.addLabel({ params: { session_id: session.sessionId }, body: { label: 'a' } })
    expect(answer.status).toBe(503)
  } finally {
    await runtime.sql`alter database ${runtime.sql(name)} reset default_transaction_read_only`
    proxy.cut()
    proxy.resume()
  }
})

test('no log line holds the key', () => {
  expect(logLines.length).toBeGreaterThan(0)
  expect(logLines.join('\n')).not.toContain(runtime.key)
})
