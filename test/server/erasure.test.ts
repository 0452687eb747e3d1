import { expect, test } from 'vitest'
import { openSession } from '../support/governed-session.js'
import { startOwnedRuntime } from '../support/owned-runtime.js'
import { planOf } from '../support/plans.js'

const { runtime, owner: ada, api } = await startOwnedRuntime()

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

test('why a program killed a session is content: kept in the audit trail as its level allows, and erased with it', async () => {
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
