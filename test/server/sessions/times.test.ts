import type { JsonValue } from '@countersign/protocol'
import { beforeAll, expect, test } from 'vitest'
import { capturesOf } from '../../support/data/captures.js'
import { LOOKUP, openSession, receiptFor } from '../../support/runtime/governed-session.js'
import { Person } from '../../support/runtime/person.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

let person: Person
const { runtime } = await withRuntime()
beforeAll(async () => {
  person = new Person(runtime.fetch)
  await person.signup()
})

/** No row can hold the year 0, years before 100 are read otherwise than written, and an offset moves others there. */
const IMPOSSIBLE = [
  '0000-01-01T00:00:00Z',
  '0049-01-01T00:00:00Z',
  '1000-01-01T00:00:00+05:00',
  '9999-12-31T23:59:59-05:00',
]

test.each(IMPOSSIBLE)('%s is refused by name, and costs no other capture of its batch', async (time) => {
  for (const query of [{ from: time }, { to: time }]) {
    expect((await person.call('listSessions', { query })).status).toBe(400)
  }
  const session = await openSession(runtime.api())
  const { decisions } = await session.decide([LOOKUP])
  const refused = await session.receipts(decisions.map((decision) => receiptFor(decision, { finished_at: time })))
  expect([refused.status, refused.problem.detail]).toEqual([400, expect.stringContaining('finished_at')])
  const captures = capturesOf('support', `look-${time}`, [LOOKUP, LOOKUP]).map((item, index) =>
    index === 0 ? { ...item, timestamp: time } : item,
  )
  const { status, body } = await runtime
    .api()
    .ingestCaptures({ body: { captures: captures as unknown as JsonValue[] } })
  expect([status, body]).toMatchObject([200, { accepted: 1, rejected: [{ index: 0, code: 'INVALID_CAPTURE' }] }])
})

const LISTS = ['listCalls', 'listSessions', 'listWorkflows', 'listPlans', 'listRuns', 'listCaptures'] as const

const statusesAt = (times: readonly string[], id: string) =>
  Promise.all(
    LISTS.flatMap((route) =>
      times.map(async (time) => {
        const cursor = Buffer.from(`${time} ${id}`).toString('base64url')
        return (await person.call(route, { query: { cursor } })).status
      }),
    ),
  )

test('a cursor of a time that no record can have is refused', async () => {
  const beyond = ['9'.repeat(19), '9'.repeat(18), `-${'9'.repeat(18)}`, '253402300800000000', '-59011459200000001']
  expect(new Set(await statusesAt([...beyond, '1e3', ''], 'ses-1'))).toEqual(new Set([400]))
})

test('a cursor that no list gave is otherwise the edge of a page', async () => {
  const edges = ['253402300799999999', '-59011459200000000', '8640000000000001', '-1']
  for (const id of ['ses-1', 'z'.repeat(160)]) {
    expect(new Set(await statusesAt(edges, id))).toEqual(new Set([200]))
  }
})

test('captures by clocks that are far off are paged through like any others', async () => {
  const key = (await person.call('createKey', { body: { name: 'off' } })).body.api_key
  await runtime.sql`update tenants set verified_at = now() where verified_at is null`
  const times = ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.998Z', '2026-01-01T00:00:00Z', '1000-01-01T00:00:00Z']
  const captures = capturesOf('off', 'far', [LOOKUP, LOOKUP, LOOKUP, LOOKUP]).map((item, index) => ({
    ...item,
    timestamp: times[index],
  })) as unknown as JsonValue[]
  expect((await runtime.api(key).ingestCaptures({ body: { captures } })).body.accepted).toBe(4)
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: Record<string, string> = { agent: 'off', limit: '1', ...(cursor === '' ? {} : { cursor }) }
    const { status, body } = await person.call('listCaptures', { query })
    expect(status).toBe(200)
    seen.push(...body.items.map(({ at }) => at))
    cursor = body.next
  }
  expect(seen).toEqual(times.map((time) => new Date(time).toISOString()))
})
