import type { CaptureItem } from '@countersign/protocol'
import { expect } from 'vitest'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { countDecisions } from '../../../packages/server/src/store/dashboard/decision-counts.js'
import { batchOf, mailConversation } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession, refund } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner, api } = await withOwnedRuntime()
const { parts } = runtime.instances[0]

const rowOf = async (agent: string) => (await owner.call('listAgents')).body.agents.find((row) => row.agent === agent)
const inOverview = async (agent: string) =>
  (await owner.call('loadOverview', { query: { range: '30d' } })).body.agents.find((row) => row.agent === agent)

/** Counts anew what was decided and begun, but for the last minutes. */
async function countAll(): Promise<void> {
  await runtime.sql`update decision_counts_until set until = '2000-01-01'`
  await runtime.sql`delete from decision_counts`
  await runtime.sql`delete from session_counts`
  while (await parts.database.transaction('test', countDecisions));
}

const DELETE = { name: 'delete_customer', args: { id: 'C-7' } }
const now = () => ({ timestamp: new Date().toISOString() })

/** The same calls, held to a contract in the program or merely compared with one. */
const judged = (agent: string, name: string, mode: 'enforce' | 'shadow'): CaptureItem[] =>
  mailConversation(agent, name, {
    ...now(),
    validation: { mode, pass: true, calls: [{ index: 0, decision: 'allow', reasons: [] }] },
  })

proves(
  'people.covered.one-meaning',
  'calls without a contract count, whether they were blocked for that or let through, and captured ones do',
  async () => {
    const session = await openSession(api, { agent: 'mixed' })
    await session.turn([LOOKUP])
    await session.decide([refund(900)])
    await session.decide([DELETE])
    const shares = async () => [(await rowOf('mixed'))?.coverage, (await inOverview('mixed'))?.coverage]
    expect(await shares()).toEqual([2 / 3, 2 / 3])
    const lenient = await openSession(api, { agent: 'mixed', unmatched_policy: 'allow' })
    await lenient.turn([DELETE])
    expect(await shares()).toEqual([2 / 4, 2 / 4])
    await runtime.sql`update session_events set at = at - interval '10 minutes'`
    await countAll()
    expect(await shares()).toEqual([2 / 4, 2 / 4])
    await api.ingestCaptures(batchOf(mailConversation('mixed', 'Ann', now())))
    expect(await shares()).toEqual([2 / 6, 2 / 6])
    await api.ingestCaptures(batchOf([...judged('mixed', 'Bob', 'enforce'), ...judged('mixed', 'Cleo', 'shadow')]))
    expect(await shares()).toEqual([4 / 10, 4 / 10])
    // Sent again they are the same calls, and those of long ago are not of these 30 days.
    const again = mailConversation('mixed', 'Dan', now())
    for (const _ of [1, 2]) await api.ingestCaptures(batchOf(again))
    await api.ingestCaptures(batchOf(mailConversation('mixed', 'Eve', { timestamp: '2020-01-01T00:00:00.000Z' })))
    expect(await shares()).toEqual([4 / 12, 4 / 12])
  },
)

proves('people.covered.one-meaning', 'a backtest by the contracts in force covers as much as was covered', async () => {
  const session = await openSession(api, { agent: 'retried' })
  await session.turn([LOOKUP])
  await session.decide([DELETE])
  await session.decide([refund(900)])
  await parts.captures.flush()
  const files = ['lookup_order', 'issue_refund'].map((tool) => ({ file: `${tool}.yaml`, text: `tool: ${tool}\n` }))
  const { plan } = (await api.submitPlan({ body: { agent: 'retried', environment: 'production', files } })).body
  const { run } = (await owner.call('startRun', { body: { plan_id: plan.plan_id } })).body
  const report = async () =>
    (await owner.call('loadRunDetail', { params: { run_id: run.run_id } })).body.run.report?.coverage
  await expect.poll(report, { timeout: 60_000 }).toBe(2 / 3)
  expect((await rowOf('retried'))?.coverage).toBe(2 / 3)
})

proves(
  'people.agents.last-seen',
  'neither learning nor what a person does to its session brings an agent back',
  async () => {
    const old = await openSession(api, { session_id: 'long-gone', agent: 'gone' })
    await old.turn([LOOKUP])
    await parts.captures.flush()
    await runtime.sql`
      update session_events set at = '2026-01-02T03:04:05Z'::timestamptz + interval '1 second' * seq where session_id = 'long-gone'`
    await runtime.sql`update sessions set created_at = '2026-01-02T03:04:05Z' where session_id = 'long-gone'`
    await runtime.sql`update captures set at = '2026-01-02T03:04:05Z' where conversation_id = 'long-gone'`
    await runtime.sql`update unlearned_captures set due_at = due_at - interval '10 minutes'`
    while ((await learnCaptures(parts)) > 0);
    await owner.call('addLabelByPerson', { params: { session_id: 'long-gone' }, body: { label: 'looked_at' } })
    expect(await rowOf('gone')).toMatchObject({
      last_seen: '2026-01-02T03:04:08.000Z',
      health: { status: 'inactive' },
    })
    // It goes on in the session that it began long ago.
    await openSession(api, { agent: 'newer' })
    const agents = async () => (await owner.call('listAgents')).body.agents.map(({ agent }) => agent)
    expect((await agents()).indexOf('newer')).toBeLessThan((await agents()).indexOf('gone'))
    await old.turn([LOOKUP])
    expect((await agents())[0]).toBe('gone')
    expect((await inOverview('newer'))?.last_seen).toBe((await rowOf('newer'))?.last_seen)
    expect((await rowOf('gone'))?.health.status).toBe('healthy')
  },
)

proves('people.agents.same-window', 'to the hour, on both sides of where the 30 days begin', async () => {
  const hour = 3_600_000
  const start = Math.floor(Date.now() / hour) * hour - 30 * 24 * hour
  for (const [name, at] of [
    ['before', start - 1_000],
    ['after', start + 1_000],
  ] as const) {
    const session = await openSession(api, { session_id: name, agent: 'edge' })
    await session.turn([LOOKUP])
    await runtime.sql`update sessions set created_at = ${new Date(at)} where session_id = ${name}`
    await runtime.sql`update session_events set at = ${new Date(at)} where session_id = ${name}`
  }
  await countAll()
  const body = (await owner.call('loadOverview', { query: { range: '30d' } })).body
  const agent = await rowOf('edge')
  expect([body.since, agent?.since]).toEqual([new Date(start).toISOString(), new Date(start).toISOString()])
  expect(body.agents.find((row) => row.agent === 'edge')).toMatchObject({ sessions: 1, allowed: 1 })
  expect(agent).toMatchObject({ sessions: 1, calls: { enforced: 1 } })
  expect(body.spans.reduce((sum, span) => sum + span.allowed, 0)).toBe(body.totals.allowed)
})

proves('people.agents.learning', async () => {
  await api.ingestCaptures(batchOf(['Ann', 'Bob'].flatMap((name) => mailConversation('pupil', name, now()))))
  expect(await rowOf('pupil')).toMatchObject({ waiting_captures: 4, calls: { observed: 0 }, coverage: 0 })
  while ((await learnCaptures(parts)) > 0);
  expect(await rowOf('pupil')).toMatchObject({ waiting_captures: 0, calls: { observed: 4 }, coverage: 0 })
})

proves('people.contracts.learned-from', 'blocked calls were captured, and are not learned from', async () => {
  const session = await openSession(api, { agent: 'refunder' })
  await session.turn([LOOKUP])
  await session.turn([refund(20)])
  await session.decide([refund(900)])
  await parts.captures.flush()
  await runtime.sql`update unlearned_captures set due_at = due_at - interval '10 minutes'`
  while ((await learnCaptures(parts)) > 0);
  const { contracts } = (await owner.call('listContracts', { query: { agent: 'refunder' } })).body
  expect(contracts.map(({ tool_name, calls, samples }) => [tool_name, calls, samples])).toEqual([
    ['issue_refund', 2, 1],
    ['lookup_order', 1, 1],
  ])
})
