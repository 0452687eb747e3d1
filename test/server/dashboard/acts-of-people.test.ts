import { expect } from 'vitest'
import { proves } from '../../support/proves.js'
import { openSession, receiptFor } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner, api } = await withOwnedRuntime()

const actsOn = async (subject: string) =>
  (await owner.call('listAudit', { query: { subject } })).body.items
    .map(({ action, actor, detail }) => ({ action, actor, detail }))
    .reverse()

proves('people.acts.label-once', 'a label by a person is audited once, together with the label', async () => {
  await openSession(api, { session_id: 'labelled' })
  const label = (text: string) =>
    owner.call('addLabelByPerson', { params: { session_id: 'labelled' }, body: { label: text } })
  await label('checked')
  await label('checked')
  expect(await actsOn('labelled')).toEqual([{ action: 'label_added', actor: owner.email, detail: 'checked' }])
  // A trail that cannot be written keeps the label from being written.
  await runtime.sql`alter table audit_entries add constraint no_more check (detail <> 'unseen') not valid`
  expect((await label('unseen')).status).toBeGreaterThanOrEqual(500)
  await runtime.sql`alter table audit_entries drop constraint no_more`
  const { body } = await owner.call('loadSessionDetail', { params: { session_id: 'labelled' } })
  expect(body.session.labels).toEqual(['checked'])
})

proves('people.acts.draft-edits', 'an edit of a draft and a backtest are audited with what was done', async () => {
  const file = (text: string) => [{ file: 'pay.yaml', text }]
  const { body: draft } = await api.submitPlan({
    body: { agent: 'payer', environment: 'staging', files: file('tool: pay\nside_effect: financial\n') },
  })
  const params = { plan_id: draft.plan.plan_id }
  const files = [
    ...file('tool: pay\nside_effect: financial\ngate: block\n'),
    { file: 'look.yaml', text: 'tool: look\n' },
  ]
  const edited = await owner.call('editPlan', { params, body: { files, compiled_hash: draft.plan.compiled_hash } })
  expect(edited.status).toBe(200)
  const stale = await owner.call('editPlan', { params, body: { files, compiled_hash: draft.plan.compiled_hash } })
  expect(stale.status).toBe(409)
  const { body: started } = await owner.call('startRun', { body: { plan_id: draft.plan.plan_id } })
  const { run_id } = started.run
  for (let tries = 0; tries < 200; tries += 1) {
    const { body } = await owner.call('loadRunDetail', { params: { run_id } })
    if (body.run.status === 'done') break
  }
  const body = { why: 'reviewed', compiled_hash: edited.body.plan.compiled_hash, run_id }
  expect((await owner.call('approvePlan', { params, body: { ...body, run_id: 'run_of_another' } })).status).toBe(400)
  expect((await owner.call('approvePlan', { params, body })).status).toBe(200)
  expect(await actsOn(draft.plan.plan_id)).toEqual([
    { action: 'plan_submitted', actor: null, detail: 'payer in staging' },
    { action: 'plan_edited', actor: owner.email, detail: 'changed pay.yaml; added look.yaml' },
    { action: 'run_started', actor: owner.email, detail: run_id },
    {
      action: 'plan_approved',
      actor: owner.email,
      detail: `reviewed (backtest ${run_id}: 0 of 0 sessions would change)`,
    },
  ])
  const runs = (await owner.call('listRuns', { query: { compiled_hash: edited.body.plan.compiled_hash } })).body.items
  expect(runs.map((run) => run.run_id)).toEqual([run_id])
})

proves(
  'people.acts.shown',
  'who approved a checkpoint, and who killed a session and why, is with the session',
  async () => {
    const plan = planOf([{ tool: 'pay', checkpoint: { reason: 'large' } }])
    const session = await openSession(api, { session_id: 'asked', plan, capture_level: 'full' })
    const { decisions } = await session.decide([{ name: 'pay', args: { amount: 5 } }])
    const [decision] = decisions
    if (decision?.argument_hash == null) throw new Error('the call is not pending')
    const checkpoint_id = decision.checkpoints[0]?.checkpoint_id ?? ''
    const approval = { checkpoint_id, decision: 'approve' as const, argument_hash: decision.argument_hash }
    const given = { decided_by: 'dana', decided_at: '2026-01-01T00:00:00.000Z', reason: 'a known customer' }
    expect((await session.receipts([receiptFor(decision, { approvals: [{ ...approval, ...given }] })])).status).toBe(
      200,
    )
    const { body } = await owner.call('loadTimeline', { params: { session_id: 'asked' } })
    expect(body.items[1]?.calls[0]?.receipt?.approvals).toEqual([{ checkpoint_id, decision: 'approve', ...given }])

    const kill = { params: { session_id: 'asked' }, body: { reason: 'acts strangely' } }
    await owner.call('killSessionByPerson', kill)
    await owner.call('killSessionByPerson', kill)
    expect(await actsOn('asked')).toEqual([{ action: 'session_killed', actor: owner.email, detail: 'acts strangely' }])
  },
)
