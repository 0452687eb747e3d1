import { randomUUID } from 'node:crypto'
import { type Decision, QUOTAS, type RouteName } from '@countersign/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createMemories } from '../../../packages/server/src/base/memories.js'
import { createPrepaidTokens } from '../../../packages/server/src/entry/prepaid-tokens.js'
import { handlers } from '../../../packages/server/src/http/handlers.js'
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres/postgres-proxy.js'
import { proves } from '../../support/proves.js'
import { type GovernedSession, LOOKUP, openSession, receiptFor } from '../../support/runtime/governed-session.js'
import { NOTHING_BESIDE } from '../../support/runtime/nothing-beside.js'
import { type Runtime, routeRequest, startRuntime, type TestTenant } from '../../support/runtime/runtime.js'

/** Prepaid tokens that do not age, so that a slow machine has them as well. */
let runtime: Runtime
let proxy: PostgresProxy
beforeAll(async () => {
  runtime = await startRuntime({
    instances: 2,
    parts: { ...NOTHING_BESIDE, prepaidTokens: createPrepaidTokens(createMemories().cache('prepaid_tokens'), () => 0) },
    through: async (url) => {
      proxy = await startPostgresProxy(url)
      return proxy.url
    },
  })
})
afterAll(async () => {
  await runtime.close()
  await proxy.close()
})

/** A call that no session has. */
const NO_CALL = { pending_call_id: 'call_none', argument_hash: 'a'.repeat(64) } as Decision

let tenant: TestTenant
let session: GovernedSession
/** A tenant whose key is busy, and a session in the middle of a turn. */
beforeEach(async () => {
  tenant = await runtime.createTenant()
  session = await openSession(runtime.api(tenant.key))
  for (let turn = 0; turn < 4; turn++) await session.turn([LOOKUP])
})

const events = async () =>
  (await runtime.sql`select count(*) from session_events where session_id = ${session.sessionId}`)[0]?.count
const send = (name: RouteName, body: object, key = tenant.key) =>
  runtime.fetch(routeRequest(name, { key, params: { session_id: session.sessionId }, body } as never))

test('a turn of a recently authenticated key is three statements', async () => {
  const before = proxy.executed()
  await session.turn([LOOKUP])
  expect(proxy.executed() - before).toBe(3)
})

describe('a key that was revoked a moment ago', () => {
  const attempts: Record<string, () => Promise<Response>> = {
    preflight: () => send('preflight', preflightBody()),
    'a preflight that cannot be read': () => send('preflight', { nonsense: true }),
    'a proposal on no request': () => send('propose', proposalBody(randomUUID())),
    'receipts of no call': () => send('submitReceipts', { fence: 1, receipts: [receiptFor(NO_CALL)] }),
  }
  const proposalBody = (prepared_request_id: string) => ({
    prepared_request_id,
    fence: session.fence,
    response: { content: 'hello', tool_calls: [] },
  })
  const preflightBody = () => ({
    prepared_request_id: randomUUID(),
    fence: session.fence,
    state_version: session.stateVersion,
    tools: [{ name: 'lookup_order' }],
  })
  const revoke = () => runtime.sql`update api_keys set revoked_at = clock_timestamp() where key_id = ${tenant.keyId}`

  for (const [name, attempt] of Object.entries(attempts)) {
    proves('auth.key.revoked-at-once', `${name}: 401, and nothing is written`, async () => {
      const before = await events()
      await revoke()
      expect((await attempt()).status).toBe(401)
      expect(await events()).toBe(before)
    })
  }

  proves(
    'auth.key.revoked-at-once',
    'in the middle of a turn: neither its proposal nor its receipts count',
    async () => {
      const { body } = await session.preflight()
      const id = body.outcome === 'prepared' ? body.prepared_request_id : ''
      await revoke()
      expect((await send('propose', proposalBody(id))).status).toBe(401)
      await runtime.sql`update api_keys set revoked_at = null where key_id = ${tenant.keyId}`
      const { decisions } = (await session.propose(id, [LOOKUP])).body
      const before = await events()
      await revoke()
      expect(
        (await send('submitReceipts', { fence: session.fence, receipts: [receiptFor(decisions[0]!)] })).status,
      ).toBe(401)
      expect(await events()).toBe(before)
    },
  )

  test('of another tenant does not open a session that this process knows', async () => {
    const other = await runtime.createTenant()
    const theirs = await openSession(runtime.api(other.key))
    for (let turn = 0; turn < 4; turn++) await theirs.turn([LOOKUP])
    expect((await send('preflight', preflightBody(), other.key)).status).toBe(404)
  })
})

test('a quota that was changed a moment ago counts for the next request', async () => {
  await runtime.sql`update tenants set quota = 'free' where tenant_id = ${tenant.tenantId}`
  const answer = await session.preflight()
  expect(answer.headers.get('ratelimit-policy')).toBe(`"write";q=${QUOTAS.free.write};w=60`)
})

test('what is refused for its content is refused as ever, and says what is left', async () => {
  const answer = await send('preflight', { nonsense: true })
  expect([answer.status, (await answer.json()).code]).toEqual([400, 'INVALID_REQUEST'])
  expect(answer.headers.get('ratelimit')).toMatch(/^"write";r=\d+;t=\d+$/)
})

test('a label set through another instance binds the next proposal', async () => {
  const { body } = await session.preflight()
  const elsewhere = runtime.api(tenant.key, runtime.instances[1])
  await elsewhere.addLabel({ params: { session_id: session.sessionId }, body: { label: 'untrusted_input' } })
  const late = await session.propose(body.outcome === 'prepared' ? body.prepared_request_id : '', [LOOKUP])
  expect(late.problem.code).toBe('PREPARED_REQUEST_STALE')
})

test('over two instances no more requests get through than the bucket holds', async () => {
  const limit = 400
  const two = await startRuntime({
    instances: 2,
    quota: 'team',
    config: { COUNTERSIGN_QUOTAS: JSON.stringify({ team: { write: limit } }) },
  })
  const startedAt = performance.now()
  let through = 0
  const client = async (instance: number) => {
    const own = await openSession(two.api(two.key, two.instances[instance]))
    through += 1
    while ((await own.preflight()).status === 200) through += 1
  }
  try {
    await Promise.all([client(0), client(1), client(1)])
    const refilled = ((performance.now() - startedAt) / 60_000) * limit + 1
    expect(through).toBeLessThanOrEqual(limit + refilled)
    // Each of the two may hold a hundredth that the other cannot have.
    expect(through).toBeGreaterThanOrEqual(limit * 0.97)
  } finally {
    await two.close()
  }
})

test('an operation that never proves the key gives no answer', async () => {
  const forgetful = await startRuntime({
    parts: {
      prepaidTokens: createPrepaidTokens(createMemories().cache('prepaid_tokens'), () => 0),
      checkReplies: false,
      handlers: { ...handlers, submitReceipts: async () => ({ secret: true }) },
    },
  })
  try {
    const own = await openSession(forgetful.api())
    await own.preflight()
    const statuses = []
    for (let sent = 0; sent < 3; sent++) statuses.push((await own.receipts([receiptFor(NO_CALL)])).status)
    // The key is asked for twice; the third request comes by a pass.
    expect(statuses).toEqual([200, 200, 500])
  } finally {
    await forgetful.close()
  }
})
