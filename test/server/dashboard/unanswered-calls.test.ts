import { expect } from 'vitest'
import { countDecisions } from '../../../packages/server/src/store/dashboard/decision-counts.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession, receiptFor, refund } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner, api } = await withOwnedRuntime()
const { database } = runtime.instances[0].parts

/** As after some minutes: what happened is counted, and no lease of these sessions lasts. */
async function later(): Promise<void> {
  await runtime.sql`update session_events set at = at - interval '10 minutes'`
  await runtime.sql`update session_heads set lease_until = lease_until - interval '10 minutes'`
  await recount()
}

/** From the beginning: the times of what was counted have moved. */
async function recount(): Promise<void> {
  await runtime.sql`truncate decision_counts, session_counts`
  await runtime.sql`update decision_counts_until set until = '2000-01-01T00:00:00Z'`
  await database.transaction('jobs', countDecisions)
}

const listed = async (query: Record<string, string> = { unanswered: '1' }) =>
  (await owner.call('listCalls', { query })).body.items.map(({ session_id, tool_name }) => `${session_id} ${tool_name}`)
const overview = async () => (await owner.call('loadOverview', { query: { range: '24h' } })).body

proves(
  ['people.unanswered.counted', 'people.unanswered.listed'],
  'a call that was allowed and never got a receipt is counted, listed and shown with its session',
  async () => {
    const refunds = []
    for (const id of ['lost-1', 'lost-2', 'lost-3']) {
      const session = await openSession(api, { session_id: id, agent: 'desk' })
      await session.turn([LOOKUP])
      refunds.push({ session, decided: await session.decide([refund(50)]) })
    }
    const answered = await openSession(api, { session_id: 'answered' })
    await answered.turn([LOOKUP])
    expect((await overview()).totals.unanswered_calls).toBe(0)
    await later()
    expect(await listed()).toEqual(['lost-3 issue_refund', 'lost-2 issue_refund', 'lost-1 issue_refund'])
    const seen = await overview()
    expect(seen.totals.unanswered_calls).toBe(3)
    expect(seen.oldest_unanswered).toEqual(expect.any(String))
    const rows = (await owner.call('listSessions', {})).body.items
    expect(Object.fromEntries(rows.map((row) => [row.session_id, row.unanswered]))).toEqual({
      ...{ 'lost-1': 1, 'lost-2': 1, 'lost-3': 1, answered: 0 },
    })
    const { agents } = (await owner.call('listAgents', {})).body
    expect(agents.find(({ agent }) => agent === 'desk')?.health).toMatchObject({
      unanswered_calls: 3,
      status: 'degraded',
    })

    const [first, second] = refunds
    const decision = first?.decided.decisions[0]
    if (decision === undefined || first === undefined) throw new Error('nothing was decided')
    await first.session.receipts([receiptFor(decision)])
    await api.killSession({ params: { session_id: second?.session.sessionId ?? '' }, body: {} })
    expect(await listed()).toEqual(['lost-3 issue_refund', 'lost-2 issue_refund'])
    expect((await overview()).totals.unanswered_calls).toBe(2)
    // Counted with the minutes in which its receipt came.
    await runtime.sql`
      update session_events set at = now() - interval '5 minutes' where session_id = 'lost-1' and at > now() - interval '5 minutes'`
    await runtime.sql`update decision_counts_until set until = date_trunc('minute', now()) - interval '6 minutes'`
    await database.transaction('jobs', countDecisions)
    const [row] = await runtime.sql`select count(*)::int as kept from unanswered_calls`
    expect(row).toEqual({ kept: 2 })
  },
)

proves('people.unanswered.still-runs', 'a tool that still runs under its lease is not unanswered', async () => {
  const session = await openSession(api, { session_id: 'runs' })
  await session.decide([LOOKUP])
  await runtime.sql`update session_events set at = at - interval '10 minutes' where session_id = 'runs'`
  await recount()
  expect(await listed()).not.toContain('runs lookup_order')
  await runtime.sql`update session_heads set lease_until = clock_timestamp() - interval '1 second' where session_id = 'runs'`
  expect(await listed()).toContain('runs lookup_order')
})

proves('people.numbers.calls', 'the list of calls has as many rows as the overview counts, page by page', async () => {
  const session = await openSession(api, { session_id: 'counted' })
  for (let i = 0; i < 5; i += 1) await session.decide([refund(900 + i), LOOKUP], {}).catch(() => null)
  const seen = await overview()
  const from = seen.spans[0]?.at ?? ''
  const count = async (query: Record<string, string>) => {
    let rows = 0
    let cursor: string | null = null
    do {
      const page: { items: unknown[]; next: string | null } = (
        await owner.call('listCalls', { query: { from, limit: '2', ...query, ...(cursor === null ? {} : { cursor }) } })
      ).body
      rows += page.items.length
      cursor = page.next
    } while (cursor !== null)
    return rows
  }
  expect(seen.totals.blocked).toBeGreaterThan(0)
  expect(await count({ decision: 'allow' })).toBe(seen.totals.allowed)
  expect(await count({ decision: 'block' })).toBe(seen.totals.blocked)
  for (const { reason, count: calls } of seen.reasons)
    expect([reason, await count({ reason })]).toEqual([reason, calls])
  for (const { agent, blocked } of seen.agents) {
    expect([agent, await count({ agent, decision: 'block' })]).toEqual([agent, blocked])
  }
})

proves('people.numbers.calls', 'pages of calls over many minutes, near and far apart, leave nothing out', async () => {
  await runtime.sql`
    update session_events set at = at - case when seq < 5 then interval '3 hours' else interval '1 minute' end * seq`
  await recount()
  type Page = { items: { at: string; session_id: string; seq: number; index: number }[]; next: string | null }
  const page = async (query: Record<string, string>): Promise<Page> => (await owner.call('listCalls', { query })).body
  const nameOf = ({ session_id, seq, index }: { session_id: string; seq: number; index: number }) =>
    `${session_id} ${seq} ${index}`
  // Counted as allowed, and stopped since: a page that goes by the counts finds one call less than it expects.
  const [stopped] = (await page({ decision: 'allow', limit: '1' })).items
  await runtime.sql`
    update decision_counts set calls = calls + 3 where reason = '' and at <= ${stopped?.at ?? ''}::timestamptz`
  for (const decision of ['allow', 'block']) {
    const all = (await page({ decision, limit: '100' })).items.map(nameOf)
    expect(all.length).toBeGreaterThan(2)
    const paged: string[] = []
    let cursor: string | null = null
    do {
      const next = await page({ decision, limit: '2', ...(cursor !== null && { cursor }) })
      paged.push(...next.items.map(nameOf))
      cursor = next.next
    } while (cursor !== null)
    expect([decision, ...paged]).toEqual([decision, ...all])
  }
})
