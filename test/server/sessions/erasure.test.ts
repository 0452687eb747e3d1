import { expect, test } from 'vitest'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner: ada, api } = await withOwnedRuntime()

const killWith = async (sessionId: string, capture_level: 'metadata' | 'redacted', reason: string) => {
  const session = await openSession(api, { session_id: sessionId, capture_level })
  await api.killSession({ params: { session_id: session.sessionId }, body: { reason } })
}
const reasons = async () => {
  const { items } = (await ada.call('listAudit', { query: { limit: '100' } })).body
  return Object.fromEntries(
    items.flatMap(({ action, subject, detail }) => (action === 'session_killed' ? [[subject, detail]] : [])),
  )
}

test('why a program killed a session is content: stored in the audit trail as its level allows, and erased with it', async () => {
  await killWith('quiet', 'metadata', 'it wrote to jane@example.test')
  await killWith('gone', 'redacted', 'it wrote to jane@example.test')
  await killWith('stays', 'redacted', 'it wrote to joe@example.test')
  await openSession(api, { session_id: 'by-person' })
  await ada.call('killSessionByPerson', { params: { session_id: 'by-person' }, body: { reason: 'enough' } })
  for (const session_id of ['gone', 'by-person']) await ada.call('eraseContent', { params: { session_id } })
  expect(await reasons()).toEqual({
    quiet: null,
    gone: null,
    stays: 'it wrote to joe@example.test',
    'by-person': 'enough',
  })
})

proves(
  'guarantee.erasable',
  'what was learned of a session is forgotten with its content, and what others had too stays',
  async () => {
    const plan = planOf([{ tool: 'send', side_effect: 'read', arguments: { type: 'object' } }])
    const { captures } = runtime.instances[0].parts
    for (const [session_id, args] of [
      ['forgotten', { to: { 'jane@example.test': 'the secret of the house' }, kind: 'plain' }],
      ['kept', { to: { 'joe@example.test': 'hello' }, kind: 'plain' }],
    ] as const) {
      const session = await openSession(api, { session_id, agent: 'forgetful', plan })
      await session.turn([{ name: 'send', args }])
    }
    await captures.flush()
    await runtime.sql`update unlearned_captures set due_at = due_at - interval '1 hour'`
    while ((await learnCaptures(runtime.instances[0].parts)) > 0) {
      // Until nothing is left.
    }
    const learned = async () => {
      const [row] = await runtime.sql<{ summary: string; samples: number }[]>`
      select summary::text as summary, samples::int from learned_tools where agent = 'forgetful'`
      return row
    }
    expect((await learned())?.summary).toMatch(/the secret of the house/)
    expect((await ada.call('eraseContent', { params: { session_id: 'forgotten' } })).status).toBe(200)
    expect((await learned())?.summary).not.toMatch(/jane|secret/)
    expect((await learned())?.summary).toMatch(/hello.*plain|plain.*hello/)
    expect((await learned())?.samples).toBe(2)
  },
)

const contract = (more: object = {}) =>
  planOf([{ tool: 'send', side_effect: 'read', arguments: { type: 'object' }, ...more }])

test('a run tells of captured sessions where a rule would block, not what the model wrote there', async () => {
  const session = await openSession(api, { session_id: 'mailed', agent: 'mailer', plan: contract() })
  await session.turn([{ name: 'send', args: { to: { 'jane@example.test': 'the secret of the house' }, known: 1 } }])
  await runtime.instances[0].parts.captures.flush()
  const strict = contract({
    argument_value_invariants: [
      { path: '$.to.*', equals: 'nothing' },
      { path: '$.known', lt: 1 },
    ],
  })
  const { body } = await api.createRun({
    body: { run_id: 'run-1', plan: { compiled_session: strict.compiled_session }, against: { agent: 'mailer' } },
  })
  let { report } = body.run
  while (report === null) report = (await api.loadRun({ params: { run_id: 'run-1' } })).body.run.report
  expect(report).toMatchObject({ calls: 1, calls_blocked: 1, divergences: [{ session: 'mailed', tool_name: 'send' }] })
  expect(JSON.stringify(report)).not.toMatch(/jane|secret/)
  expect(report?.divergences[0]?.remedy).toMatch(/arguments\.to\[\*\] \(equals\).*arguments\.known \(lt\)/)
  expect(report?.coverage_by_tool[0]?.argument_paths.map(({ path }) => path)).toEqual(['$.known', '$.to.*'])
})
