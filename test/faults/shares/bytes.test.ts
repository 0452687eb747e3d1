import type { JsonValue } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { NO_HEADERS } from '../../../packages/server/src/context/reply-headers.js'
import { UNWRITTEN_BYTES } from '../../../packages/server/src/entry/byte-quota.js'
import { capturesOf } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession, receiptFor } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const PER_DAY = 20_000_000
const BODY = 1_000_000

const { runtime } = await withRuntime({
  instances: 2,
  config: { COUNTERSIGN_QUOTAS: JSON.stringify({ team: { bytes: PER_DAY } }) },
})

/** A batch of captures of about that many bytes. */
const captures = (bytes: number) => {
  const turns = Array.from({ length: 10 }, () => ({ name: 'note', args: { text: 'x'.repeat(bytes / 10) } }))
  return { captures: capturesOf('desk', 'hello', turns) as unknown as JsonValue[] }
}

proves(
  'limit.bytes.per-day',
  'a tenant sends so many bytes a day and no more, whatever the instance, and is told when it may go on',
  async () => {
    const tenant = await runtime.createTenant({ quota: 'team' })
    const instances = runtime.instances.map((instance) => runtime.api(tenant.key, instance))
    const body = captures(BODY)
    // What counts is what is sent, which is somewhat more than the texts.
    const size = JSON.stringify(body).length
    let accepted = 0
    let refusals = 0
    for (let sent = 0; sent < 60; sent++) {
      const api = instances[sent % 2]
      const answer = await api?.ingestCaptures({ body })
      if (answer?.status !== 429) {
        expect(answer?.status).toBe(200)
        accepted += size
        continue
      }
      refusals += 1
      expect(answer.problem).toMatchObject({
        code: 'RATE_LIMITED',
        limit_bytes: PER_DAY,
        detail: expect.stringMatching(/quota team takes 20 MB.*fits again in \d+ seconds.*COUNTERSIGN_QUOTAS/),
      })
      expect(answer.headers.get('ratelimit-policy')).toBe(`"bytes";q=${PER_DAY};w=86400`)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(accepted).toBeGreaterThanOrEqual(PER_DAY - 2 * size)
    // Each instance may not know yet what the other has taken.
    expect(accepted).toBeLessThanOrEqual(PER_DAY + 2 * (UNWRITTEN_BYTES + size))
    expect(refusals).toBeGreaterThan(0)
  },
)

test('many large bodies at once do not outrun the count', async () => {
  const tenant = await runtime.createTenant({ quota: 'team' })
  const api = runtime.api(tenant.key)
  const answers = await Promise.all(Array.from({ length: 60 }, () => api.ingestCaptures({ body: captures(BODY) })))
  const accepted = answers.filter(({ status }) => status === 200).length
  expect(answers.some(({ status }) => status === 429)).toBe(true)
  expect(accepted * BODY).toBeLessThanOrEqual(PER_DAY + UNWRITTEN_BYTES + BODY)
})

proves(
  'limit.bytes.stop-and-evidence',
  'when nothing is left, calls that were allowed are still settled and sessions still killed',
  async () => {
    const tenant = await runtime.createTenant({ quota: 'team' })
    const api = runtime.api(tenant.key)
    const session = await openSession(api)
    const decided = await session.decide([LOOKUP])
    const [second, third] = [await openSession(api), await openSession(api)]
    const late = await third.decide([LOOKUP])
    await runtime.instances[0].parts.byteQuota.flush()
    await runtime.sql`update buckets set tokens = -1e6 where owner = ${tenant.tenantId} and bucket = 'bytes'`
    // The next write learns of it.
    await api.addLabel({ params: { session_id: session.sessionId }, body: { label: 'a' } })
    await runtime.instances[0].parts.byteQuota.flush()
    expect((await session.preflight()).problem).toMatchObject({ code: 'RATE_LIMITED', limit_bytes: PER_DAY })
    const receipts = decided.decisions.map((decision) => receiptFor(decision))
    expect((await session.receipts(receipts)).status).toBe(200)
    const kill = async ({ sessionId }: typeof session) =>
      (await api.killSession({ params: { session_id: sessionId }, body: {} })).status
    expect(await kill(session)).toBe(200)
    // Where another day's bytes are used up evidence has to wait. A stop never has.
    await runtime.sql`update buckets set tokens = ${-3 * PER_DAY} where owner = ${tenant.tenantId} and bucket = 'bytes'`
    await runtime.instances[0].parts.byteQuota.flush()
    expect(await kill(second)).toBe(200)
    await runtime.instances[0].parts.byteQuota.flush()
    expect((await third.receipts(late.decisions.map((decision) => receiptFor(decision)))).status).toBe(429)
    expect(await kill(third)).toBe(200)
  },
)

test('a body whose length is not announced counts too', async () => {
  const tenant = await runtime.createTenant({ quota: 'team' })
  const url = await runtime.instances[0].listen()
  const body = new Blob([JSON.stringify(captures(BODY))]).stream()
  const headers = { authorization: `Bearer ${tenant.key}`, 'content-type': 'application/json' }
  await fetch(`${url}/api/v1/captures`, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
  await runtime.instances[0].parts.byteQuota.flush()
  const [row] = await runtime.sql`select tokens from buckets where owner = ${tenant.tenantId} and bucket = 'bytes'`
  expect(Number(row?.tokens)).toBeLessThanOrEqual(PER_DAY - BODY)
})

test('a body whose length is not known yet counts as the largest on its instance, and nowhere else', async () => {
  const { tenantId } = await runtime.createTenant({ quota: 'team' })
  const tenant = { tenantId, quota: 'team' } as const
  const [first, second] = runtime.instances.map(({ parts }) => parts.byteQuota)
  const take = (quota = first, held = false) =>
    quota?.take({ tenant, throttle: 'write', bytes: PER_DAY - 10, held }, NO_HEADERS)
  const left = async () => {
    for (const quota of [first, second]) await quota?.flush()
    const [row] = await runtime.sql`select tokens from buckets where owner = ${tenantId} and bucket = 'bytes'`
    return row && Number(row.tokens)
  }
  take(first, true)
  expect(() => take()).toThrow('too many requests')
  expect(await left()).toBeUndefined()
  first?.settle(tenant, { held: PER_DAY - 10, bytes: 7 })
  expect(await left()).toBeCloseTo(PER_DAY - 7, -4)
  take(second)
  expect(await left()).toBeLessThan(10_000)
})
