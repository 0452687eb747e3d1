import { QUOTAS, type RouteName } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { proves } from '../../support/proves.js'
import { echoHandlers } from '../../support/runtime/echo-handlers.js'
import { routeRequest, type TestTenant } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const echo = echoHandlers()
const { runtime } = await withRuntime({ instances: 2, parts: { handlers: echo.handlers, checkReplies: false } })

const params = { session_id: 's1' }

/** Sends `count` requests at once, alternating between the two instances, and counts the answers by status. */
async function burst(tenant: TestTenant, name: RouteName, count: number): Promise<Record<number, number>> {
  const body =
    name === 'killSession' ? { reason: 'enough' } : name === 'addLabel' ? { label: 'a' } : { tools: null, fence: 1 }
  const answers = await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const request = routeRequest(name, { key: tenant.key, params, ...(name === 'loadSession' ? {} : { body }) })
      return runtime.instances[index % 2]!.fetch(request)
    }),
  )
  const byStatus: Record<number, number> = {}
  for (const { status } of answers) byStatus[status] = (byStatus[status] ?? 0) + 1
  return byStatus
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

proves('limit.get-general', 'of 200 parallel GETs over two instances the 120 of the bucket get through', async () => {
  const tenant = await runtime.createTenant({ quota: 'free' })
  await expectBucket(120, () => [burst(tenant, 'loadSession', 200)])
})

proves('limit.runs-also-post', 'of 20 runs and 20 other POSTs at once the 30 of the bucket get through', async () => {
  const tenant = await runtime.createTenant({ quota: 'free' })
  await expectBucket(30, () => [burst(tenant, 'createRun', 20), burst(tenant, 'setToolFilter', 20)])
})

test('an exhausted tenant can still be stopped, still prove what ran, and does not touch another tenant', async () => {
  const [tenant, other] = [await runtime.createTenant({ quota: 'free' }), await runtime.createTenant({ quota: 'free' })]
  expect(limited(await burst(tenant, 'setToolFilter', 60))).toBeGreaterThan(0)
  expect(limited(await burst(tenant, 'killSession', 5))).toBe(0)
  expect(limited(await burst(tenant, 'addLabel', 5))).toBe(0)
  expect(limited(await burst(tenant, 'loadSession', 5))).toBe(0)
  expect(limited(await burst(other, 'setToolFilter', 5))).toBe(0)
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
  await leave(tenant, QUOTAS.free.write - 1, 365 * 24 * 3_600)
  await expectBucket(QUOTAS.free.write, () => [burst(tenant, 'setToolFilter', 100)])
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

proves(
  ['limit.proposal-own-bucket', 'limit.capture-own-bucket'],
  'captures and writes that are used up starve no turn that was prepared',
  async () => {
    const tenant = await runtime.createTenant({ quota: 'free' })
    expect(limited(await burst(tenant, 'ingestCaptures', 60))).toBeGreaterThan(0)
    expect(limited(await burst(tenant, 'setToolFilter', 60))).toBeGreaterThan(0)
    // Twice as many as there can be preflights.
    expect(limited(await burst(tenant, 'propose', 60))).toBe(0)
    const other = await runtime.createTenant({ quota: 'free' })
    await burst(other, 'setToolFilter', 60)
    expect(limited(await burst(other, 'ingestCaptures', 20))).toBe(0)
  },
)
