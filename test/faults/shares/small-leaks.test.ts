import { expect, test } from 'vitest'
import { sha256 } from '../../../packages/server/src/base/crypto/secrets.js'
import { redact, redactText } from '../../../packages/server/src/base/redact.js'
import { useKey } from '../../../packages/server/src/store/accounts/api-keys.js'
import { Person } from '../../support/runtime/person.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner, api } = await withOwnedRuntime()

test('ids and cursors of the audit trail say nothing about what other tenants do', async () => {
  const other = new Person(runtime.fetch)
  await other.signup()
  const trail = (await owner.call('listAudit', { query: { limit: '1' } })).body
  for (const shown of [...trail.items.map(({ audit_id }) => audit_id), trail.next ?? '']) {
    expect(shown).not.toMatch(/^\d+$/)
    expect(Buffer.from(shown, 'base64url').toString('latin1')).not.toMatch(/^\d+ \d+$/)
  }
  const rest = (await owner.call('listAudit', { query: { limit: '50', cursor: trail.next ?? '' } })).body
  const all = (await owner.call('listAudit', { query: { limit: '50' } })).body.items
  expect([...trail.items, ...rest.items]).toEqual(all)
  // Another tenant's cursor is none.
  const foreign = (await other.call('listAudit', { query: { limit: '1' } })).body.items[0]?.audit_id ?? ''
  for (const cursor of [foreign, '12', 'x', '00000000-0000-0000-0000-000000000000']) {
    expect((await owner.call('listAudit', { query: { cursor } })).status).toBe(400)
  }
})

const pack = (lte: number) => ({
  agent: 'desk',
  environment: 'production' as const,
  files: [{ file: 'pay.yaml', text: `tool: pay\nargument_value_invariants:\n  - path: $.amount\n    lte: ${lte}\n` }],
})

test('a plan that is submitted again, also at once, is the same draft until somebody decides on it', async () => {
  const answers = await Promise.all(Array.from({ length: 5 }, () => api.submitPlan({ body: pack(5) })))
  const ids = new Set(answers.map(({ body }) => body.plan.plan_id))
  expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(201))
  expect(ids.size).toBe(1)
  const other = await api.submitPlan({ body: pack(6) })
  expect(ids.has(other.body.plan.plan_id)).toBe(false)
  // The same rules in other words are another draft: its files are what people review.
  const [file] = pack(5).files
  const commented = await api.submitPlan({
    body: { ...pack(5), files: [{ file: 'pay.yaml', text: `# reviewed\n${file?.text}` }] },
  })
  expect(ids.has(commented.body.plan.plan_id)).toBe(false)
  const [planId] = ids
  const params = { plan_id: planId ?? '' }
  expect((await owner.call('rejectPlan', { params, body: { why: 'no' } })).status).toBe(200)
  const afterwards = await api.submitPlan({ body: pack(5) })
  expect(ids.has(afterwards.body.plan.plan_id)).toBe(false)
})

test('sign-ins and short names of secrets are redacted in running text, and words that only look alike are not', () => {
  const line =
    'sent countersign_refresh=needle; __Host-countersign_access=needle pwd=needle db_pass: needle "auth":"needle"'
  expect(redactText(line)).not.toContain('needle')
  expect(JSON.stringify(redact({ pwd: 'needle', pass: 'needle', auth: 'needle', smtpPass: 'needle' }))).not.toContain(
    'needle',
  )
  const plain = 'author: Ada, bypass: yes, compass=north'
  expect(redactText(plain)).toBe(plain)
  expect(redact({ author: 'Ada', bypass_detected: 3, passed: 7 })).toEqual({
    author: 'Ada',
    bypass_detected: 3,
    passed: 7,
  })
})

test.each([
  ['an override of the direction', 'ada\u202e@example.test'],
  ['an isolate', 'ada@ex\u2066ample.test'],
  ['a control character', 'ada\u0007@example.test'],
  ['a zero-width space', 'ada\u200b@example.test'],
  ['a soft hyphen', 'ada@exam\u00adple.test'],
])('an email address with %s is refused', async (_what, email) => {
  const { status, code } = await new Person(runtime.fetch, { email }).signup()
  expect([status, code]).toEqual([400, 'INVALID_REQUEST'])
})

test('tokens that were taken under a larger quota do not fill the bucket of a smaller one', async () => {
  const tenant = await runtime.createTenant({ quota: 'team' })
  const rate = (perMinute: number) => ({ bucket: 'write' as const, perMinute })
  const buckets = { free: rate(30), team: rate(3_000), scale: rate(120_000) }
  const use = {
    tenantId: tenant.tenantId,
    keyHash: sha256(tenant.key),
    buckets,
    wanted: 30,
    returned: 0,
    session: null,
  }
  await useKey(runtime.sql, { ...use, wanted: 1 })
  expect(await useKey(runtime.sql, use)).toMatchObject({ granted: 30 })
  await runtime.sql`update tenants set quota = 'free' where tenant_id = ${tenant.tenantId}`
  await runtime.sql`update buckets set tokens = 0 where owner = ${tenant.tenantId}`
  const holder = await useKey(runtime.sql, { ...use, wanted: 1, returned: 30 })
  expect(holder?.tokens).toBeLessThan(3)
})
