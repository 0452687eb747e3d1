import { expect } from 'vitest'
import { countDecisions } from '../../../packages/server/src/store/dashboard/decision-counts.js'
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
  const body = { why: 'reviewed', compiled_hash: edited.body.plan.compiled_hash }
  expect((await owner.call('approvePlan', { params, body })).status).toBe(200)
  expect(await actsOn(draft.plan.plan_id)).toEqual([
    { action: 'plan_submitted', actor: null, detail: 'payer in staging' },
    { action: 'plan_edited', actor: owner.email, detail: 'changed pay.yaml; added look.yaml' },
    { action: 'run_started', actor: owner.email, detail: run_id },
    {
      action: 'plan_approved',
      actor: owner.email,
      detail:
        `reviewed (backtest ${run_id}; sessions that would change: 0 of 0; blocked calls that would run: 0; ` +
        'allowed calls that would be blocked: 0)',
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

proves(
  'people.acts.approver-hashed',
  'an approver or a reason that was changed in the database is named as changed and not shown',
  async () => {
    const plan = planOf([{ tool: 'pay', checkpoint: { reason: 'large' } }])
    const approved = async (sessionId: string) => {
      const session = await openSession(api, { session_id: sessionId, plan, capture_level: 'full' })
      const [decision] = (await session.decide([{ name: 'pay', args: { amount: 5 } }])).decisions
      if (decision?.argument_hash == null) throw new Error('the call is not pending')
      const checkpoint_id = decision.checkpoints[0]?.checkpoint_id ?? ''
      const approval = { checkpoint_id, decision: 'approve' as const, argument_hash: decision.argument_hash }
      await session.receipts([
        receiptFor(decision, { approvals: [{ ...approval, decided_by: 'dana', reason: 'a known customer' }] }),
      ])
    }
    const shown = async (sessionId: string) => {
      const [, item] = (await owner.call('loadTimeline', { params: { session_id: sessionId } })).body.items
      const [approval] = item?.calls[0]?.receipt?.approvals ?? []
      return { by: approval?.decided_by, reason: approval?.reason, changed: item?.changed }
    }
    const changed = ['who approved call 0 (pay), or why']
    await approved('by-another')
    expect(await shown('by-another')).toEqual({ by: 'dana', reason: 'a known customer', changed: undefined })
    await runtime.sql`
      update receipts set record = replace(record, 'dana', 'eve') where session_id = 'by-another'`
    expect(await shown('by-another')).toEqual({ by: null, reason: 'a known customer', changed })

    await approved('for-another-reason')
    await runtime.sql`
      update content set body = replace(body::text, 'known', 'new')::json
      where session_id = 'for-another-reason' and kind = 'approval'`
    expect(await shown('for-another-reason')).toEqual({ by: 'dana', reason: null, changed })
    await runtime.sql`delete from content where session_id = 'for-another-reason' and kind = 'approval'`
    expect(await shown('for-another-reason')).toEqual({ by: 'dana', reason: null, changed: undefined })
  },
)

proves(
  'block.outside-proposal.recorded',
  'a call that a person stopped is one blocked call on every page, before and after its minute is counted',
  async () => {
    const plan = planOf([{ tool: 'pay', checkpoint: { reason: 'large' } }])
    const session = await openSession(api, { session_id: 'stopped', plan, agent: 'stopped-agent' })
    const [decision] = (await session.decide([{ name: 'pay', args: { amount: 5 } }])).decisions
    if (decision?.argument_hash == null) throw new Error('the call is not pending')
    const checkpoint_id = decision.checkpoints[0]?.checkpoint_id ?? ''
    const numbers = async () => {
      const agents = (await owner.call('listAgents')).body.agents
      const agent = agents.find((one) => one.agent === 'stopped-agent')
      const query = { agent: 'stopped-agent' }
      const [row] = (await owner.call('listSessions', { query })).body.items
      const listed = async (decided: 'allow' | 'block') =>
        (await owner.call('listCalls', { query: { ...query, decision: decided } })).body.items.map(
          ({ reason }) => reason,
        )
      return {
        agent: [agent?.calls.enforced, agent?.health.blocked_calls],
        session: [row?.allowed, row?.blocked, row?.last_reason],
        allowed: await listed('allow'),
        blocked: await listed('block'),
      }
    }
    const before = { agent: [1, 0], session: [1, 0, null], allowed: [null], blocked: [] }
    const after = {
      ...{ agent: [1, 1], session: [0, 1, 'checkpoint_denied'], allowed: [], blocked: ['checkpoint_denied'] },
    }
    expect(await numbers()).toEqual(before)
    // Its minute is counted while it waits, as with a person who takes their time.
    const proposedAt = new Date(Date.now() - 10 * 60_000)
    await runtime.sql`update session_events set at = ${proposedAt} where session_id = 'stopped'`
    await runtime.sql.begin(countDecisions)
    expect(await numbers()).toEqual(before)

    const denied = { checkpoint_id, decision: 'deny' as const, argument_hash: decision.argument_hash }
    const receipt = receiptFor(decision, { outcome: 'not_executed', evidence_level: 'reported', approvals: [denied] })
    expect((await session.receipts([receipt])).status).toBe(200)
    await runtime.sql`update stopped_calls set proposed_at = ${proposedAt}`
    expect(await numbers()).toEqual(after)
    const { recent_blocks } = (await owner.call('loadOverview', { query: { range: '24h' } })).body
    expect(recent_blocks).toMatchObject([{ session_id: 'stopped', tool_name: 'pay', reason: 'checkpoint_denied' }])
    const found = (await owner.call('listSessions', { query: { reason: 'checkpoint_denied' } })).body.items
    expect(found.map(({ session_id }) => session_id)).toEqual(['stopped'])
    await runtime.sql`update stopped_calls set at = at - interval '5 minutes'`
    await runtime.sql`update decision_counts_until set until = until - interval '7 minutes'`
    await runtime.sql.begin(countDecisions)
    expect(await numbers()).toEqual(after)
  },
)

proves('people.acts.breaker', 'whether a proposal or a receipt tripped it', async () => {
  const plan = (most: Record<string, number>) =>
    planOf([{ tool: 'pay' }], { session_limits: { circuit_breaker: most } })
  const proposed = await openSession(api, { session_id: 'by-proposal', plan: plan({ consecutive_blocks: 1 }) })
  await proposed.decide([{ name: 'unknown', args: {} }])
  const failed = await openSession(api, { session_id: 'by-receipt', plan: plan({ consecutive_errors: 1 }) })
  const [decision] = (await failed.decide([{ name: 'pay', args: {} }])).decisions
  if (decision === undefined) throw new Error('nothing was decided')
  await failed.receipts([receiptFor(decision, { outcome: 'failed' })])
  for (const sessionId of ['by-proposal', 'by-receipt']) {
    const { status } = (await api.loadSession({ params: { session_id: sessionId } })).body.session
    expect([sessionId, status, await actsOn(sessionId)]).toEqual([
      sessionId,
      'KILLED',
      [{ action: 'session_killed', actor: 'system', detail: 'the circuit breaker tripped' }],
    ])
  }
  const { items } = (await owner.call('listAudit', { query: { subject: 'by-receipt' } })).body
  expect(items).toMatchObject([{ key: null, ip: null }])
})
