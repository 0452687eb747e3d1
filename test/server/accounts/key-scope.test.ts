import { randomBytes } from 'node:crypto'
import { KEY_ACCESS, type KeyAccess, ROUTES, type RouteName } from '@countersign/protocol'
import { expect } from 'vitest'
import { makeApiKey, makeId } from '../../../packages/server/src/base/crypto/secrets.js'
import { insertKey, type KeyScope } from '../../../packages/server/src/store/accounts/api-keys.js'
import { mailConversation } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { VALID_BODIES } from '../../support/runtime/valid-bodies.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime({})

const keyFor = async (given: Partial<KeyScope>, expiresAt: Date | null = null): Promise<string> => {
  const made = makeApiKey(randomBytes)
  const scope = { access: 'all' as const, agent: null, environment: null, ...given }
  const row = { tenantId: runtime.tenantId, keyId: makeId(randomBytes, 'key'), userId: null, name: 'scoped' }
  await insertKey(runtime.sql, { ...row, prefix: made.prefix, keyHash: made.hash, scope, expiresAt })
  return made.raw
}

const READ: readonly RouteName[] = [
  'listSessionsByKey',
  'loadSession',
  'listSessionQuestions',
  'exportEvents',
  'listSeals',
  'loadWorkflow',
  'exportWorkflowEvents',
  'lookupPlan',
  'loadRun',
]
const MAY: Readonly<Record<KeyAccess, readonly RouteName[] | null>> = {
  all: null,
  read: READ,
  observe: ['ingestCaptures', 'lookupPlan'],
}

proves(
  'key.access',
  'every route under /api/v1 by every kind of key: 403 where it is not for that, and nothing else',
  async () => {
    const names = (Object.keys(ROUTES) as RouteName[]).filter((name) => ROUTES[name].auth === 'api_key')
    let cells = 0
    for (const access of KEY_ACCESS) {
      const api = runtime.api(await keyFor({ access }))
      for (const name of names) {
        const { status, problem } = await api[name]({
          rawBody: ROUTES[name].method === 'GET' ? undefined : '{"nothing":0}',
        })
        const isRefused = MAY[access]?.includes(name) === false
        expect([name, access, status === 403, problem?.code === 'KEY_SCOPE']).toEqual([
          name,
          access,
          isRefused,
          isRefused,
        ])
        cells += 1
      }
    }
    expect([names.length, cells]).toEqual([32, 96])
  },
)

proves('key.access', 'a token that a refused request has paid for lets nobody in', async () => {
  const session = await openSession(runtime.api())
  const reader = runtime.api(await keyFor({ access: 'read' }))
  const params = { params: { session_id: session.sessionId } }
  for (let turn = 0; turn < 5; turn++) {
    expect((await reader.loadSession(params)).status).toBe(200)
    expect((await reader.preflight({ ...params, body: VALID_BODIES.preflight as never })).problem.code).toBe(
      'KEY_SCOPE',
    )
    expect((await reader.killSession({ ...params, body: {} })).problem.code).toBe('KEY_SCOPE')
  }
  expect((await session.load()).session.status).toBe('ACTIVE')
})

proves('key.bound', 'one agent in one environment: of all others nothing is named, seen or stopped', async () => {
  const all = runtime.api()
  const place = { agent: 'buyer', environment: 'staging' as const }
  const bound = runtime.api(await keyFor(place))
  const mine = await openSession(bound, place)
  const others = [
    await openSession(all, { agent: 'seller', environment: 'staging' }),
    await openSession(all, { agent: 'buyer', environment: 'production' }),
    await openSession(all),
  ]
  await mine.decide([{ name: 'lookup_order', args: { order_id: 'o-1' } }])
  for (const other of others) {
    const params = { params: { session_id: other.sessionId } }
    const tries = [
      await bound.loadSession(params),
      await bound.exportEvents(params),
      await bound.preflight({ ...params, body: VALID_BODIES.preflight as never }),
      await bound.propose({ ...params, body: VALID_BODIES.propose as never }),
      await bound.killSession({ ...params, body: {} }),
      await bound.addLabel({ ...params, body: { label: 'seen' } }),
      await bound.recoverSession({ ...params, body: { holder_id: 'thief', takeover: true } }),
    ]
    expect(tries.map(({ status }) => status)).toEqual(Array(7).fill(404))
    expect((await other.load()).session.status).toBe('ACTIVE')
  }
  const { body: listed } = await bound.listSessionsByKey()
  expect(listed.items.map(({ session_id }) => session_id)).toEqual([mine.sessionId])
  const elsewhere = { agent: 'seller', environment: 'staging' as const }
  const pack = { files: [{ file: 'look.yaml', text: 'tool: look\nside_effect: read\n' }] }
  const named = [
    await bound.createSession({ body: { session_id: 's-1', holder_id: 'h', compiled_hash: mine.plan.compiled_hash } }),
    await bound.listSessionsByKey({ query: { agent: 'seller' } }),
    await bound.findSession({ body: { ...elsewhere, ids: ['call-1'] } }),
    await bound.stopAgent({ body: { agent: 'seller', reason: 'why' } }),
    // It names no environment, and would stop the agent in all of them.
    await bound.stopAgent({ body: { agent: 'buyer', reason: 'why' } }),
    await bound.lookupPlan({ query: elsewhere }),
    await bound.submitPlan({ body: { ...elsewhere, ...pack } }),
    await bound.diffPlan({ body: { ...elsewhere, ...pack } }),
    await bound.pinTools({ body: { ...elsewhere, server: 'shop', tools: [] } }),
    await bound.ingestCaptures({ body: { captures: mailConversation('seller', 'Ann') as never } }),
    await bound.listSeals(),
  ]
  for (const { status, problem } of named) expect([status, problem?.code]).toEqual([403, 'KEY_SCOPE'])
  expect(named[0]?.problem.detail).toBe('this key is for agent buyer in staging alone, and the request must name them')
  expect((await bound.lookupPlan({ query: place })).status).toBe(200)
  expect((await bound.ingestCaptures({ body: { captures: mailConversation('buyer', 'Ann') as never } })).status).toBe(
    200,
  )
})

proves('key.bound', 'backtests and workflows of other agents are not there', async () => {
  const all = runtime.api()
  const bound = runtime.api(await keyFor({ agent: 'buyer' }))
  const plan = (await openSession(all)).plan
  const run = (run_id: string, agent: string) => ({
    body: { run_id, plan: { compiled_session: plan.compiled_session }, against: { agent } } as never,
  })
  expect((await all.createRun(run('run-seller', 'seller'))).status).toBe(201)
  expect((await bound.createRun(run('run-other', 'seller'))).problem.code).toBe('KEY_SCOPE')
  expect((await bound.createRun(run('run-buyer', 'buyer'))).status).toBe(201)
  const loaded = async (run_id: string) => (await bound.loadRun({ params: { run_id } })).status
  expect([await loaded('run-buyer'), await loaded('run-seller')]).toEqual([200, 404])
})

proves('key.expiry', 'an hour later the key is nobody, and leaves room for another', async () => {
  const key = await keyFor({}, new Date(Date.now() + 3_600_000))
  const session = await openSession(runtime.api(key))
  await session.decide([{ name: 'lookup_order', args: { order_id: 'o-1' } }])
  await runtime.sql`update api_keys set expires_at = clock_timestamp() where name = 'scoped' and expires_at is not null`
  // Whatever this process still knows of the key.
  expect((await session.preflight()).status).toBe(401)
  expect((await runtime.api(key).loadSession({ params: { session_id: session.sessionId } })).status).toBe(401)
})
