import type { RouteName } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { SETTINGS } from '../../../packages/server/src/base/config.js'
import { proves } from '../../support/proves.js'
import { echoHandlers } from '../../support/runtime/echo-handlers.js'
import { Person } from '../../support/runtime/person.js'
import { routeRequest, type TestTenant } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const echo = echoHandlers()
const { runtime } = await withRuntime({ instances: 2, parts: { handlers: echo.handlers, checkReplies: false } })

const params = { session_id: 's1' }

const BODIES: Partial<Record<RouteName, object | null>> = {
  loadSession: null,
  lookupPlan: null,
  killSession: { reason: 'enough' },
  addLabel: { label: 'a' },
}

/** Sends `count` requests at once, alternating between the two instances, and counts the answers by status. */
async function burst(tenant: TestTenant, name: RouteName, count: number): Promise<Record<number, number>> {
  const given = BODIES[name] === undefined ? { tools: null, fence: 1 } : BODIES[name]
  const body = given === null ? {} : { body: given as never }
  return byStatus(count, (index) =>
    runtime.instances[index % 2]!.fetch(routeRequest(name, { key: tenant.key, params, ...body })),
  )
}

async function byStatus(
  count: number,
  send: (index: number) => Promise<{ readonly status: number }>,
): Promise<Record<number, number>> {
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => send(index)))
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Time is the database's: instead of waiting, the row is moved. Below zero it stands still, and nothing flows in. */
const leave = (tenant: TestTenant, tokens: number, secondsAgo: number) =>
  runtime.sql`
    update buckets set tokens = ${tokens}, refilled_at = clock_timestamp() - make_interval(secs => ${secondsAgo})
    where owner = ${tenant.tenantId}`

const limited = (counts: Record<number, number>) => counts[429] ?? 0

/** The whole bucket got through, and besides only what flowed into it while the burst went on. */
async function expectBucket(limit: number, bursts: () => Promise<Record<number, number>>[]): Promise<void> {
  const started = performance.now()
  const counts = await Promise.all(bursts())
  const refilled = Math.floor(((performance.now() - started) / 60_000) * limit) + 1
  const through = counts
    .flatMap(Object.entries)
    .reduce((sum, [status, count]) => (status === '429' ? sum : sum + count), 0)
  expect(through).toBeGreaterThanOrEqual(limit)
  expect(through).toBeLessThanOrEqual(limit + refilled)
}

proves(
  ['limit.post-general', 'limit.token-bucket'],
  'of 100 parallel POSTs over two instances the 30 of the bucket get through',
  async () => {
    const tenant = await runtime.createTenant({ quota: 'free' })
    await expectBucket(30, () => [burst(tenant, 'setToolFilter', 100)])
  },
)

proves('limit.post-general', 'whatever they are for: 30 POSTs get through in all', async () => {
  const tenant = await runtime.createTenant({ quota: 'free' })
  const kinds: RouteName[] = ['preflight', 'propose', 'submitReceipts', 'claimCall', 'endSession', 'ingestCaptures']
  await expectBucket(30, () => kinds.map((name) => burst(tenant, name, 15)))
  expect(limited(await burst(tenant, 'loadSession', 5))).toBe(0)
})

proves('limit.get-general', 'of 200 parallel GETs over two instances the 120 of the bucket get through', async () => {
  const tenant = await runtime.createTenant({ quota: 'free' })
  await expectBucket(120, () => [burst(tenant, 'loadSession', 120), burst(tenant, 'lookupPlan', 80)])
})

proves('limit.runs-also-post', 'of 20 runs and 20 other POSTs at once the 30 of the bucket get through', async () => {
  const tenant = await runtime.createTenant({ quota: 'free' })
  await expectBucket(30, () => [burst(tenant, 'createRun', 20), burst(tenant, 'setToolFilter', 20)])
})

proves(
  'limit.stops-unlimited',
  'on any quota, however often they come, and they take nothing from others',
  async () => {
    const stops: RouteName[] = ['killSession', 'killWorkflow', 'stopAgent', 'reportBypass', 'addLabel']
    for (const quota of ['free', 'team'] as const) {
      const tenant = await runtime.createTenant({ quota })
      for (const name of stops) expect(limited(await burst(tenant, name, 130))).toBe(0)
      expect(limited(await burst(tenant, 'setToolFilter', 20))).toBe(0)
      await leave(tenant, 0, -60)
      expect(limited(await burst(tenant, 'setToolFilter', 1))).toBe(1)
      for (const name of stops) expect(limited(await burst(tenant, name, 1))).toBe(0)
    }
  },
)

test('an exhausted tenant does not touch another', async () => {
  const [tenant, other] = [await runtime.createTenant({ quota: 'free' }), await runtime.createTenant({ quota: 'free' })]
  expect(limited(await burst(tenant, 'setToolFilter', 60))).toBeGreaterThan(0)
  expect(limited(await burst(other, 'setToolFilter', 5))).toBe(0)
})

describe('of a service that nobody configured', async () => {
  const served = await withRuntime({ config: { COUNTERSIGN_DEFAULT_QUOTA: SETTINGS.defaultQuota.default } })

  const signedUp = async () => {
    const ada = new Person(served.runtime.fetch)
    const { body } = await ada.signup()
    await served.runtime.sql`update tenants set verified_at = clock_timestamp()`
    return { ada, api: served.runtime.api(body.api_key) }
  }
  proves('limit.default-quota', 'an account has the quota free', async () => {
    expect((await new Person(served.runtime.fetch).signup()).body.user.quota).toBe('free')
  })

  const setFilter = { params, body: { tools: null, fence: 1 } }

  proves('limit.post-general', 'people draw from the same 30 as programs, and can stop without them', async () => {
    const { ada, api } = await signedUp()
    await expectBucket(30, () => [
      byStatus(40, () => ada.call('createKey', { rawBody: '{}' })),
      byStatus(40, () => api.setToolFilter(setFilter)),
    ])
    expect((await ada.call('listKeys')).status).toBe(200)
    const kill = { params, body: {} }
    expect(await byStatus(40, () => ada.call('killSessionByPerson', kill))).toEqual({ 404: 40 })
    expect((await ada.call('addLabelByPerson', { params, body: { label: 'seen' } })).status).toBe(404)
    expect((await ada.call('killWorkflowByPerson', { params: { workflow_id: 'w' }, body: {} })).status).toBe(404)
    expect((await ada.call('revokeKey', { params: { key_id: 'k' } })).status).toBe(404)
  })

  proves('limit.get-general', 'people draw from the same 120 as programs', async () => {
    const { ada, api } = await signedUp()
    await expectBucket(120, () => [
      byStatus(80, () => ada.call('listKeys')),
      byStatus(80, () => api.loadSession({ params })),
    ])
  })
})

proves(
  ['limit.post-general', 'limit.token-bucket'],
  'a refusal says how long to wait, and after that long one more request gets through',
  async () => {
    const tenant = await runtime.createTenant({ quota: 'free' })
    await burst(tenant, 'setToolFilter', 1)
    await leave(tenant, 0, -60)
    const request = () => routeRequest('setToolFilter', { key: tenant.key, params, body: { tools: null, fence: 1 } })
    const refused = await runtime.fetch(request())
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ code: 'RATE_LIMITED', status: 429 })
    expect(refused.headers.get('retry-after')).toBe('2')
    expect(refused.headers.get('ratelimit')).toMatch(/^"write";r=0;t=60$/)
    expect(refused.headers.get('ratelimit-policy')).toBe('"write";q=30;w=60')
    await leave(tenant, 0, 2)
    expect((await runtime.fetch(request())).status).not.toBe(429)
    expect((await runtime.fetch(request())).status).toBe(429)
  },
)

test('a bucket never holds more than its capacity, however long it rests', async () => {
  const tenant = await runtime.createTenant({ quota: 'free' })
  await burst(tenant, 'setToolFilter', 1)
  await leave(tenant, 29, 365 * 24 * 3_600)
  await expectBucket(30, () => [burst(tenant, 'setToolFilter', 100)])
})

test('a request over the limit is 429 even with a body that is not JSON; below it, 400', async () => {
  const tenant = await runtime.createTenant({ quota: 'free' })
  const request = () => routeRequest('setToolFilter', { key: tenant.key, params, rawBody: '{"tools":' })
  expect((await runtime.fetch(request())).status).toBe(400)
  await leave(tenant, 0, -60)
  expect((await runtime.fetch(request())).status).toBe(429)
})

test('a higher quota has larger buckets at once', async () => {
  const tenant = await runtime.createTenant({ quota: 'free' })
  await burst(tenant, 'setToolFilter', 1)
  await runtime.sql`update tenants set quota = 'team' where tenant_id = ${tenant.tenantId}`
  await leave(tenant, 0, 60)
  expect(limited(await burst(tenant, 'setToolFilter', 100))).toBe(0)
})

proves('limit.own-buckets', 'captures and writes that are used up starve no turn that was prepared', async () => {
  const tenant = await runtime.createTenant({ quota: 'team' })
  await burst(tenant, 'setToolFilter', 1)
  await leave(tenant, 0, -60)
  expect(limited(await burst(tenant, 'setToolFilter', 1))).toBe(1)
  expect(limited(await burst(tenant, 'ingestCaptures', 1))).toBe(0)
  await leave(tenant, 0, -60)
  expect(limited(await burst(tenant, 'ingestCaptures', 1))).toBe(1)
  expect(limited(await burst(tenant, 'propose', 60))).toBe(0)
  expect(limited(await burst(tenant, 'submitReceipts', 60))).toBe(0)
})
