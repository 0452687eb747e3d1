import { randomBytes } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import type { Value } from '../../../packages/server/src/postgres/values.js'
import { enter } from '../../../packages/server/src/store/accounts/api-keys.js'
import { type Granted, takeTokens } from '../../../packages/server/src/store/accounts/buckets.js'
import { callWrites } from '../../support/model/call-writes.js'
import { proves } from '../../support/proves.js'
import type { TestTenant } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()
let other: TestTenant
let w: ReturnType<typeof callWrites>
beforeAll(async () => {
  other = await runtime.createTenant()
  w = callWrites(runtime, other)
})

const take = async (more: Readonly<Record<string, Value>>) => {
  const usual = { bucket: 'b', capacity: 200, fill_seconds: 1e9, wanted: 1, returned: 0 }
  return (await takeTokens(runtime.sql, { owner: '', ...usual, ...more })) as Granted
}
const ofOwner = () => ({ owner: randomBytes(8).toString('hex') })

test('take_tokens gives all that are wanted, or one, or none', async () => {
  const own = ofOwner()
  expect(await take({ ...own, wanted: 150 })).toMatchObject({ granted: 150 })
  expect(await take({ ...own, wanted: 49 })).toMatchObject({ granted: 49 })
  expect(await take({ ...own, wanted: 2 })).toMatchObject({ granted: 1 })
  const refused = await take({ ...own, wanted: 1 })
  expect(refused.granted).toBe(0)
  expect(refused.tokens).toBeLessThan(1)
  // Others have buckets of their own.
  expect(await take({ ...ofOwner(), wanted: 200 })).toMatchObject({ granted: 200 })
  expect(await take({ ...own, bucket: 'another', wanted: 200 })).toMatchObject({ granted: 200 })
})

test('take_tokens takes back a hundredth of a full bucket at most, and fills it by the time', async () => {
  const own = ofOwner()
  await take({ ...own, wanted: 200 })
  expect((await take({ ...own, returned: 150 })).tokens).toBeCloseTo(1, 3)
  await runtime.sql`update buckets set refilled_at = refilled_at - interval '1 hour' where owner = ${own.owner}`
  expect((await take({ ...own, fill_seconds: 7_200 })).tokens).toBeCloseTo(100, 0)
  await runtime.sql`update buckets set refilled_at = refilled_at + interval '1 hour' where owner = ${own.owner}`
  expect((await take({ ...own, fill_seconds: 7_200 })).tokens).toBeCloseTo(99, 0)
})

test('of many that take from a new bucket at once, exactly as many get a token as it holds', async () => {
  const own = ofOwner()
  const taken = await Promise.all(Array.from({ length: 40 }, () => take({ ...own, capacity: 15 })))
  expect(taken.filter(({ granted }) => granted === 1)).toHaveLength(15)
})

proves(
  'scale.write-functions',
  'enter authenticates a key of its tenant, and knows a session of its tenant',
  async () => {
    const of = await w.createBoth()
    const keyHash = await w.makeKey()
    const buckets = JSON.stringify({ scale: { bucket: 'scale', perMinute: 100 } })
    const usual = { key_hash: keyHash, buckets, wanted: 1, returned: 0, ...of, revision: 'r1' }
    const asked = (more: Readonly<Record<string, Value>>) => enter(runtime.sql, { ...usual, ...more })
    expect(await asked({})).toEqual({
      keyId: keyHash.toString('hex'),
      userId: null,
      access: 'all',
      agent: null,
      environment: null,
      quota: 'scale',
      verified: true,
      taken: { granted: 1, tokens: 99 },
      now: expect.stringMatching(/^20/),
      isCurrent: true,
    })
    expect(await asked({ revision: 'r0' })).toMatchObject({ isCurrent: false })
    expect(await asked({ session: null, buckets: null })).toMatchObject({ isCurrent: false, taken: null })
    expect(await asked({ tenant: other.tenantId })).toBeNull()
    expect(await asked({ key_hash: randomBytes(32) })).toBeNull()
    // A session that only another tenant has.
    const theirs = { tenant: other.tenantId, session: `${of.session}_theirs` }
    expect(await w.create(theirs)).toBe(true)
    expect(await asked({ session: theirs.session })).toMatchObject({ isCurrent: false })
    await runtime.sql`update tenants set verified_at = null where tenant_id = ${of.tenant}`
    expect(await asked({})).toMatchObject({ verified: false, taken: null })
    await runtime.sql`update tenants set verified_at = clock_timestamp() where tenant_id = ${of.tenant}`
    await runtime.sql`update api_keys set expires_at = clock_timestamp() where key_hash = ${keyHash}`
    expect(await asked({})).toBeNull()
    await runtime.sql`update api_keys set expires_at = null, revoked_at = clock_timestamp() where key_hash = ${keyHash}`
    expect(await asked({})).toBeNull()
  },
)
