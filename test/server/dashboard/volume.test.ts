import { afterAll, expect, test } from 'vitest'
import { startSeeded } from '../../support/volume/with-volume.js'

const { runtime, owner, mainSession, sessions } = await startSeeded(40)
afterAll(() => runtime.close())

test('a seeded month holds every state of a session, over thirty days, and every ledger verifies', async () => {
  const { items, next } = (await owner.call('listSessions', { query: { limit: '200' } })).body
  expect([items.length, next]).toEqual([sessions, null])
  expect(new Set(items.map(({ status }) => status))).toEqual(new Set(['ACTIVE', 'KILLED', 'COMPROMISED', 'RECOVERING']))
  expect(new Set(items.map(({ agent }) => agent))).toEqual(
    new Set(['support', 'billing-ops', 'research', 'accounts', 'default']),
  )
  const days = new Set(items.map(({ created_at }) => created_at.slice(0, 10)))
  expect(days.size).toBeGreaterThan(10)
  expect(items.some(({ unanswered }) => unanswered > 0)).toBe(true)
  for (const { session_id } of items) {
    const { body } = await owner.call('loadProof', { params: { session_id } })
    expect([session_id, body.verified]).toEqual([session_id, true])
  }
  const { body } = await owner.call('loadTimeline', { params: { session_id: mainSession } })
  expect(body.items.map(({ type }) => type)).toEqual([
    ...['created', 'proposal', 'receipts', 'proposal', 'proposal', 'receipts'],
  ])
  expect((await owner.call('loadOverview', { query: { range: '30d' } })).body.totals.unanswered_calls).toBeGreaterThan(
    1,
  )
})

test('its audit trail is listed in the order of its times', async () => {
  const { items } = (await owner.call('listAudit', { query: { limit: '200' } })).body
  const times = items.map(({ at }) => at)
  expect(new Set(times.map((at) => at.slice(0, 10))).size).toBeGreaterThan(3)
  expect(times).toEqual(times.toSorted().reverse())
})
