import { randomUUID } from 'node:crypto'
import { verifyWorkflowChain } from '@countersign/engine'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { createLog } from '../../../packages/server/src/base/log.js'
import { createRuntime } from '../../../packages/server/src/process/start-server.js'
import { checkSession } from '../../support/model/session-checker.js'
import { proves } from '../../support/proves.js'
import { appFetch } from '../../support/runtime/app-fetch.js'
import { expectStatus, openSession, receiptFor, succeeded } from '../../support/runtime/governed-session.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { createApi, startRuntime } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import {
  join,
  lookUp,
  offer,
  openWorkflow,
  PAYMENT_PLAN,
  PAYMENT_TOOLS,
  PAYMENTS,
  pay,
  readDocument,
  settle,
  tryJoin,
  tryOffer,
} from '../../support/runtime/workflow.js'

const { runtime } = await withRuntime({ instances: 2 })

const api = () => runtime.api()
const load = async (workflowId: string) =>
  expectStatus(await api().loadWorkflow({ params: { workflow_id: workflowId } }), 200).body
const lapseLease = (sessionId: string) =>
  runtime.sql`update session_heads set revision = revision || ':lapsed', lease_until = clock_timestamp() - interval '1 second' where session_id = ${sessionId}`
const lapseOffer = (handoffId: string) =>
  runtime.sql`update handoffs set expires_at = clock_timestamp() - interval '1 second' where handoff_id = ${handoffId}`
const eventTypes = async (sessionId: string) => (await exportOf(api(), sessionId)).events.map(({ type }) => type)

/** A researcher who has offered, and a payer who has taken it. */
async function handedOver(given: { tools?: string[] } = {}) {
  const root = await openWorkflow(api())
  const handoff = await offer(root, given)
  const { workflowId } = root
  const child = await join(api(), { workflowId, handoffId: handoff.handoff_id })
  return { root, child, workflowId, handoffId: handoff.handoff_id }
}

describe('opening and joining', () => {
  proves(['endpoint.session-create.workflow-root', 'record.workflow', 'endpoint.workflow-get'], async () => {
    const root = await openWorkflow(api(), { labels: ['eu'] })
    expect(root.created.session).toMatchObject({ workflow_id: root.workflowId, role: 'researcher' })
    expect(await load(root.workflowId)).toMatchObject({
      workflow_id: root.workflowId,
      status: 'ACTIVE',
      definition: PAYMENTS,
      labels: ['eu'],
      sessions: [
        {
          session_id: root.sessionId,
          role: 'researcher',
          status: 'ACTIVE',
          labels: ['eu'],
          tools: ['look_up', 'read_document'],
          handoff_id: null,
        },
      ],
      handoffs: [],
      resources: [],
    })
  })

  proves(
    ['endpoint.session-create.workflow-child', 'workflow.handoffs', 'record.handoff', 'endpoint.handoff-offer'],
    'a child joins by answering an offer: it has the labels of the session that offered, and at most the offered tools',
    async () => {
      const root = await openWorkflow(api(), { labels: ['eu'] })
      await root.turn([readDocument()])
      const offered = await offer(root, { tools: ['look_up'], note: 'see invoice 7', expires_in_seconds: 60 })
      expect(offered).toMatchObject({ state: 'offered', to_session: null, tools: ['look_up'], note: 'see invoice 7' })
      const { workflowId } = root
      const child = await join(api(), { workflowId, handoffId: offered.handoff_id, labels: ['own'] })
      expect(child.created.session.labels).toEqual(['own', 'eu', 'untrusted_input'])
      const prepared = expectStatus(await child.preflight({ tools: PAYMENT_TOOLS }), 200).body
      expect(prepared).toMatchObject({ allowed: ['look_up'] })
      const { decisions } = await child.decide([pay('7')])
      expect(decisions[0]?.reasons.map(({ detail }) => detail)).toContain('handoff')
      const view = await load(workflowId)
      expect(view.handoffs).toMatchObject([{ state: 'accepted', to_session: child.sessionId, settled_at: null }])
      expect(view.sessions.map(({ handoff_id }) => handoff_id)).toEqual([null, offered.handoff_id])
      expect(await eventTypes(root.sessionId)).toEqual([
        'created',
        'proposal',
        'receipts',
        'handoff_offered',
        'handoff_accepted',
      ])
    },
  )

  test('one offer has one winner; the loser gets an error, and its session does not exist', async () => {
    const { workflowId, handoffId } = await handedOver()
    const sessionId = `ses-${randomUUID()}`
    const late = await tryJoin(api(), { workflowId, handoffId, session_id: sessionId })
    expect([late.status, late.problem]).toMatchObject([409, { code: 'HANDOFF_STATE', state: 'accepted' }])
    expect((await api().loadSession({ params: { session_id: sessionId } })).status).toBe(404)
  })

  test('joining again with the same body gets the same answer; another body is refused', async () => {
    const root = await openWorkflow(api())
    const { handoff_id: handoffId } = await offer(root)
    const given = { workflowId: root.workflowId, handoffId, session_id: `ses-${randomUUID()}` }
    const first = expectStatus(await tryJoin(api(), given), 201)
    const again = expectStatus(await tryJoin(runtime.api(runtime.key, runtime.instances[1]), given), 201)
    expect(again.body).toEqual(first.body)
    expect((await tryJoin(api(), { ...given, labels: ['x'] })).problem.code).toBe('SESSION_EXISTS')
  })

  const REFUSED = [
    ['a role that the definition does not have', { role: 'payr' }, 400, 'INVALID_REQUEST'],
    ['a role that is taken by answering an offer', { role: 'payer' }, 409, 'HANDOFF_NOT_ALLOWED'],
  ] as const
  test.each(REFUSED)('%s cannot be joined', async (_name, given, status, code) => {
    const { workflowId } = await openWorkflow(api())
    const answer = await tryJoin(api(), { workflowId, ...given })
    expect([answer.status, answer.problem.code]).toEqual([status, code])
  })

  test('an offer for one role is no way into another', async () => {
    const root = await openWorkflow(api())
    const { handoff_id: handoffId } = await offer(root)
    const answer = await tryJoin(api(), { workflowId: root.workflowId, role: 'auditor', handoffId })
    expect([answer.status, answer.problem.code]).toEqual([409, 'HANDOFF_NOT_ALLOWED'])
  })

  test('a second session of a root role joins without an offer, with the definition or without', async () => {
    const { workflowId } = await openWorkflow(api())
    await join(api(), { workflowId, role: 'researcher' })
    await openWorkflow(api(), { workflowId })
    expect((await load(workflowId)).sessions).toHaveLength(3)
    const definition = { ...PAYMENTS, name: 'other' }
    const workflow = { workflow_id: workflowId, role: 'researcher', definition }
    const answer = await tryJoin(api(), { workflowId, workflow })
    expect([answer.status, answer.problem.code]).toEqual([409, 'WORKFLOW_EXISTS'])
  })

  test('a definition that cannot be used opens nothing, and the answer says what is wrong', async () => {
    const workflowId = `wfl-${randomUUID()}`
    const definition = { roles: { a: {} }, handoffs: [{ from: 'a', to: 'aa' }] }
    const answer = await tryJoin(api(), { workflowId, workflow: { workflow_id: workflowId, role: 'a', definition } })
    expect([answer.status, answer.problem.detail]).toEqual([
      400,
      'body.workflow.definition.handoffs.0.to: there is no role "aa"; did you mean "a"?',
    ])
    expect((await api().loadWorkflow({ params: { workflow_id: workflowId } })).status).toBe(404)
  })

  test('a role that names an agent is for that agent', async () => {
    const definition = { roles: { a: { agent: 'alpha' } } }
    const workflow = { workflow_id: `wfl-${randomUUID()}`, role: 'a', definition }
    expect((await tryJoin(api(), { workflowId: 'x', workflow })).status).toBe(400)
    await openSession(api(), { plan: PAYMENT_PLAN, workflow, agent: 'alpha' })
  })
})

describe('offering', () => {
  test('an offer can be repeated after a lost answer; another offer under its id is refused', async () => {
    const root = await openWorkflow(api())
    const handoffId = `hnd-${randomUUID()}`
    const first = await offer(root, { handoff_id: handoffId, tools: ['pay'] })
    expect(await offer(root, { handoff_id: handoffId, tools: ['pay'] })).toEqual(first)
    const other = await tryOffer(root, { handoff_id: handoffId, tools: ['look_up'] })
    expect([other.status, other.problem.code]).toEqual([409, 'HANDOFF_EXISTS'])
    expect((await load(root.workflowId)).handoffs).toHaveLength(1)
  })

  const BEYOND = [
    [
      'a role without a handoff to it',
      { to_role: 'auditor' },
      'the workflow has no handoff from "researcher" to "auditor"',
    ],
    ['a role that does not exist', { to_role: 'payr' }, 'there is no role "payr"; did you mean "payer"?'],
    [
      'a tool that the role does not have',
      { tools: ['read_document'] },
      'the role "payer" does not have the tool "read_document"',
    ],
  ] as const
  test.each(BEYOND)('nobody can offer to %s', async (_name, given, detail) => {
    const root = await openWorkflow(api())
    const answer = await tryOffer(root, 'tools' in given ? { tools: [...given.tools] } : given)
    expect([answer.status, answer.problem]).toMatchObject([409, { code: 'HANDOFF_NOT_ALLOWED', detail }])
    expect(await eventTypes(root.sessionId)).toEqual(['created'])
  })

  test('authority only narrows: what was not handed down cannot be handed on', async () => {
    const { child, workflowId } = await handedOver({ tools: ['look_up'] })
    const answer = await tryOffer(child, { to_role: 'auditor', tools: ['pay'] })
    expect([answer.status, answer.problem.detail]).toEqual([409, 'the session was not granted the tool "pay"'])
    const unnamed = await offer(child, { to_role: 'auditor' })
    expect(unnamed.tools).toEqual(['look_up'])
    const grandchild = await join(api(), { workflowId, role: 'auditor', handoffId: unnamed.handoff_id })
    expect((await grandchild.preflight({ tools: PAYMENT_TOOLS })).body).toMatchObject({ allowed: ['look_up'] })
  })

  test('a session outside of workflows, an old fence, and a killed session offer nothing', async () => {
    const alone = await openSession(api())
    expect((await tryOffer(alone)).problem.code).toBe('HANDOFF_NOT_ALLOWED')
    const root = await openWorkflow(api())
    expect((await tryOffer(root, { fence: 9 })).problem.code).toBe('FENCE_STALE')
    await api().killSession({ params: { session_id: root.sessionId }, body: {} })
    expect((await tryOffer(root)).problem.code).toBe('SESSION_KILLED')
  })

  const STOPS = {
    killed: (sessionId: string) => api().killSession({ params: { session_id: sessionId }, body: {} }),
    compromised: (sessionId: string) => api().reportBypass({ params: { session_id: sessionId }, body: {} }),
  }
  test.each(Object.entries(STOPS))('nobody takes what a session offered that is %s since', async (name, stop) => {
    const root = await openWorkflow(api())
    const { handoff_id: handoffId } = await offer(root)
    expectStatus(await stop(root.sessionId), 200)
    const { head } = expectStatus(await api().exportEvents({ params: { session_id: root.sessionId } }), 200).body
    const late = await tryJoin(api(), { workflowId: root.workflowId, handoffId })
    expect(late.problem).toMatchObject({ code: 'HANDOFF_STATE', state: 'offered' })
    expect(late.problem.detail).toContain(name)
    const after = expectStatus(await api().exportEvents({ params: { session_id: root.sessionId } }), 200).body
    expect(after.head).toEqual(head)
  })

  test('an offer and its acceptance do not disturb a turn of the session that offers', async () => {
    const root = await openWorkflow(api())
    const prepared = expectStatus(await root.preflight(), 200).body
    if (prepared.outcome !== 'prepared') throw new Error('blocked')
    const { handoff_id: handoffId } = await offer(root)
    await join(api(), { workflowId: root.workflowId, handoffId })
    expect((await root.propose(prepared.prepared_request_id, [readDocument()])).status).toBe(200)
  })
})

describe('completing', () => {
  proves(
    ['endpoint.handoff-complete', 'workflow.shared-state'],
    'a completed handoff brings the labels of the child back, and what it lent ends',
    async () => {
      const { root, child, workflowId, handoffId } = await handedOver()
      await child.turn([pay('7')])
      const done = expectStatus(await settle('completeHandoff', child, { workflowId, handoffId }), 200).body
      expect(done.handoff).toMatchObject({ state: 'completed', labels: ['money_moved'] })
      expect(done.ledger).toEqual((await child.load()).ledger)
      expect((await root.load()).session.labels).toEqual(['money_moved'])
      const { decisions } = await child.decide([lookUp('7')])
      expect(decisions[0]).toMatchObject({ decision: 'block', reason: 'forbidden_tool' })
      expect(await eventTypes(root.sessionId)).toContain('handoff_completed')
      expect(await settle('completeHandoff', child, { workflowId, handoffId })).toMatchObject({ status: 200 })
      expect((await eventTypes(child.sessionId)).filter((type) => type === 'handoff_completed')).toHaveLength(1)
    },
  )

  test('labels that come back make a request prepared before stale', async () => {
    const { root, child, workflowId, handoffId } = await handedOver()
    await child.turn([pay('7')])
    const prepared = expectStatus(await root.preflight(), 200).body
    if (prepared.outcome !== 'prepared') throw new Error('blocked')
    await settle('completeHandoff', child, { workflowId, handoffId })
    const answer = await root.propose(prepared.prepared_request_id, [readDocument()])
    expect([answer.status, answer.problem.code]).toEqual([409, 'PREPARED_REQUEST_STALE'])
  })

  test('only its holder completes it, once its own calls and what it handed on are settled', async () => {
    const { root, child, workflowId, handoffId } = await handedOver()
    expect((await settle('completeHandoff', root, { workflowId, handoffId })).problem.code).toBe('HANDOFF_STATE')
    const { decisions } = await child.decide([lookUp('7')])
    expect((await settle('completeHandoff', child, { workflowId, handoffId })).problem.code).toBe('PENDING_CALLS')
    await child.receipts(succeeded(decisions))
    const onward = await offer(child, { to_role: 'auditor' })
    const early = await settle('completeHandoff', child, { workflowId, handoffId })
    expect([early.status, early.problem]).toMatchObject([409, { code: 'HANDOFF_STATE', open: [onward.handoff_id] }])
    await lapseOffer(onward.handoff_id)
    expect((await settle('completeHandoff', child, { workflowId, handoffId })).status).toBe(200)
  })
})

describe('reclaiming', () => {
  proves('endpoint.handoff-reclaim.eligible', async () => {
    const { root, child, workflowId, handoffId } = await handedOver()
    const held = await settle('reclaimHandoff', root, { workflowId, handoffId })
    const { lease_until } = (await child.load()).session
    expect([held.status, held.problem]).toMatchObject([409, { code: 'HANDOFF_NOT_ELIGIBLE', eligible_at: lease_until }])
    const open = await offer(root)
    const waiting = await settle('reclaimHandoff', root, { workflowId, handoffId: open.handoff_id })
    expect(waiting.problem).toMatchObject({ code: 'HANDOFF_NOT_ELIGIBLE', eligible_at: open.expires_at })
    await settle('completeHandoff', child, { workflowId, handoffId })
    expect((await settle('reclaimHandoff', root, { workflowId, handoffId })).problem.code).toBe('HANDOFF_STATE')
  })

  proves('endpoint.handoff-reclaim', async () => {
    const { root, child, workflowId, handoffId } = await handedOver()
    const { decisions } = await child.decide([pay('7')])
    await lapseLease(child.sessionId)
    const taken = expectStatus(await settle('reclaimHandoff', root, { workflowId, handoffId }), 200).body
    expect(taken.handoff.state).toBe('reclaimed')
    expect((await settle('completeHandoff', child, { workflowId, handoffId })).problem.code).toBe('HANDOFF_STATE')
    // Its tool still runs: what that holds is held until it has an outcome.
    expect((await load(workflowId)).resources).toMatchObject([{ key: 'invoice:7', session_id: child.sessionId }])
    expectStatus(await child.receipts(succeeded(decisions)), 200)
    expect((await load(workflowId)).resources).toEqual([])
    child.stateVersion = (await child.load()).session.state_version
    expect((await child.decide([lookUp('7')])).outcome).toBe('blocked')
    expect(await settle('reclaimHandoff', root, { workflowId, handoffId })).toMatchObject({ status: 200 })
  })

  test('a reclaimed handoff brings back the labels of all who worked on it, and of calls under way', async () => {
    const { root, child, workflowId, handoffId } = await handedOver()
    const onward = await offer(child, { to_role: 'auditor' })
    const auditor = await join(api(), { workflowId, role: 'auditor', handoffId: onward.handoff_id })
    await auditor.decide([pay('8')])
    await api().addLabel({ params: { session_id: auditor.sessionId }, body: { label: 'untrusted_input' } })
    await lapseLease(child.sessionId)
    const prepared = expectStatus(await root.preflight(), 200).body
    if (prepared.outcome !== 'prepared') throw new Error('blocked')
    const { handoff } = expectStatus(await settle('reclaimHandoff', root, { workflowId, handoffId }), 200).body
    expect([...handoff.labels].sort()).toEqual(['money_moved', 'untrusted_input'])
    for (const session of [root, child]) {
      expect([...(await session.load()).session.labels].sort()).toEqual(['money_moved', 'untrusted_input'])
    }
    const stale = await root.propose(prepared.prepared_request_id, [readDocument()])
    expect([stale.status, stale.problem.code]).toEqual([409, 'PREPARED_REQUEST_STALE'])
  })

  test('a handoff whose holder was killed is reclaimed at once', async () => {
    const { root, child, workflowId, handoffId } = await handedOver()
    await api().killSession({ params: { session_id: child.sessionId }, body: {} })
    expect((await settle('reclaimHandoff', root, { workflowId, handoffId })).status).toBe(200)
  })

  test('what a lost holder handed on falls with it', async () => {
    const { root, child, workflowId, handoffId } = await handedOver()
    const onward = await offer(child, { to_role: 'auditor' })
    const auditor = await join(api(), { workflowId, role: 'auditor', handoffId: onward.handoff_id })
    await lapseLease(child.sessionId)
    expectStatus(await settle('reclaimHandoff', root, { workflowId, handoffId }), 200)
    const states = (await load(workflowId)).handoffs.map(({ state }) => state)
    expect(states).toEqual(['reclaimed', 'reclaimed'])
    expect((await auditor.decide([lookUp('7')])).outcome).toBe('blocked')
    expect(await eventTypes(child.sessionId)).toEqual([
      'created',
      'handoff_offered',
      'handoff_accepted',
      'handoff_reclaimed',
      'handoff_reclaimed',
    ])
  })

  test('an offer that nobody took is expired, and reclaiming it says so', async () => {
    const root = await openWorkflow(api())
    const { workflowId } = root
    const { handoff_id: handoffId } = await offer(root)
    await lapseOffer(handoffId)
    const late = await tryJoin(api(), { workflowId, handoffId })
    expect([late.status, late.problem]).toMatchObject([409, { code: 'HANDOFF_STATE', state: 'expired' }])
    expect((await load(workflowId)).handoffs).toMatchObject([{ state: 'expired' }])
    const reclaimed = expectStatus(await settle('reclaimHandoff', root, { workflowId, handoffId }), 200).body
    expect(reclaimed.handoff.state).toBe('reclaimed')
  })
})

describe('resources', () => {
  proves('workflow.resource-conflicts', async () => {
    const { root, child, workflowId } = await handedOver()
    const { decisions } = await child.decide([pay('7')])
    expect((await load(workflowId)).resources).toMatchObject([
      { key: 'invoice:7', mode: 'exclusive', session_id: child.sessionId, ends_at: null },
    ])
    const blocked = await root.decide([lookUp('7')])
    expect(blocked.decisions[0]).toMatchObject({
      reason: 'precondition_not_met',
      reasons: [{ detail: 'resource_conflict' }],
    })
    expect((await root.decide([lookUp('8')])).outcome).toBe('allowed')
    await child.receipts(succeeded(decisions))
    const { pending = [] } = await root.load()
    expect(pending).toHaveLength(1)
  })

  proves('limit.held-resources', async () => {
    const { root, child, workflowId } = await handedOver()
    const hold = (from: number, to: number) => runtime.sql`
      insert into resource_holds (tenant_id, workflow_id, session_id, pending_call_id, key_hash, mode, held_at)
      select tenant_id, ${workflowId}, ${child.sessionId}, 'call', 'hash_' || at, 'shared', clock_timestamp()
      from sessions cross join generate_series(${from}::int, ${to}::int) as at where session_id = ${child.sessionId}`
    await hold(1, 1_024)
    await root.turn([lookUp('8')])
    await hold(4_097, 4_097)
    await expect(root.decide([lookUp('8')])).rejects.toThrow(
      'answered 409, not 200: {"type":"urn:countersign:problem:WORKFLOW_LIMIT"',
    )
  })

  test('shared holds go together, and an exclusive one waits for all of them', async () => {
    const root = await openWorkflow(api())
    const other = await join(api(), { workflowId: root.workflowId, role: 'researcher' })
    const { handoff_id: handoffId } = await offer(root)
    const payer = await join(api(), { workflowId: root.workflowId, handoffId })
    const first = await root.decide([lookUp('7')])
    const second = await other.decide([lookUp('7')])
    expect([first.outcome, second.outcome]).toEqual(['allowed', 'allowed'])
    expect((await payer.decide([pay('7')])).outcome).toBe('blocked')
    await root.receipts(succeeded(first.decisions))
    expect((await payer.decide([pay('7')])).outcome).toBe('blocked')
    await other.receipts(succeeded(second.decisions))
    expect((await payer.decide([pay('7')])).outcome).toBe('allowed')
  })

  test('a recovery keeps a hold; any outcome ends it', async () => {
    const { root, child, workflowId } = await handedOver()
    const { decisions } = await child.decide([pay('7')])
    const recovered = await api().recoverSession({
      params: { session_id: child.sessionId },
      body: { holder_id: 'holder-2', takeover: true },
    })
    expect((await root.decide([lookUp('7')])).outcome).toBe('blocked')
    const [decision] = decisions
    if (decision === undefined) throw new Error('no decision')
    const unknown = receiptFor(decision, { outcome: 'unknown', evidence_level: 'reported' })
    expectStatus(await child.receipts([unknown], recovered.body.fence), 200)
    expect((await load(workflowId)).resources).toEqual([])
  })

  test('after a kill a hold ends with the receipt, or ten minutes later', async () => {
    const { root, child, workflowId } = await handedOver()
    const { decisions } = await child.decide([pay('7'), { ...pay('8'), id: 'second' }])
    await api().killSession({ params: { session_id: child.sessionId }, body: {} })
    const [held] = (await load(workflowId)).resources
    const minutes = (Date.parse(held?.ends_at ?? '') - Date.now()) / 60_000
    expect(minutes).toBeGreaterThan(9)
    expect(minutes).toBeLessThan(11)
    expect((await root.decide([lookUp('7')])).outcome).toBe('blocked')
    expectStatus(await child.receipts(succeeded(decisions.slice(0, 1))), 200)
    expect((await load(workflowId)).resources).toMatchObject([{ key: 'invoice:8' }])
    await runtime.sql`update resource_holds set ends_at = clock_timestamp() where session_id = ${child.sessionId}`
    expect((await root.decide([lookUp('8')])).outcome).toBe('allowed')
  })

  test('a session that keeps metadata only leaves no key behind', async () => {
    const root = await openWorkflow(api(), { capture_level: 'metadata' })
    await root.decide([lookUp('secret-7')])
    const view = await load(root.workflowId)
    expect(view.resources).toMatchObject([{ key: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) }])
    const rows = await runtime.sql`
      select (select json_agg(h) from resource_holds h where workflow_id = ${root.workflowId})::text ||
        (select json_agg(e) from workflow_events e where workflow_id = ${root.workflowId})::text as text`
    expect(rows[0]?.text).not.toContain('secret-7')
  })

  test('two sessions alone never meet', async () => {
    const [a, b] = [await openSession(api(), { plan: PAYMENT_PLAN }), await openSession(api(), { plan: PAYMENT_PLAN })]
    expect((await a.decide([pay('7')])).outcome).toBe('allowed')
    expect((await b.decide([pay('7')])).outcome).toBe('allowed')
  })
})

describe('killing', () => {
  proves(['endpoint.workflow-kill', 'workflow.kill'], async () => {
    const { root, child, workflowId, handoffId } = await handedOver()
    const { decisions } = await child.decide([pay('7')])
    const killed = expectStatus(
      await api().killWorkflow({ params: { workflow_id: workflowId }, body: { reason: 'drill' } }),
      200,
    )
    expect(killed.body).toEqual({ workflow_id: workflowId, status: 'KILLED', sessions_killed: 2 })
    for (const session of [root, child]) {
      expect((await session.load()).session.status).toBe('KILLED')
      expect((await session.preflight()).problem.code).toBe('SESSION_KILLED')
    }
    expect((await tryJoin(api(), { workflowId, role: 'researcher' })).problem.code).toBe('WORKFLOW_KILLED')
    expect((await tryOffer(root)).problem.code).toBe('WORKFLOW_KILLED')
    expect((await settle('completeHandoff', child, { workflowId, handoffId })).problem.code).toBe('WORKFLOW_KILLED')
    expect((await settle('reclaimHandoff', root, { workflowId, handoffId })).problem.code).toBe('WORKFLOW_KILLED')
    expect((await child.receipts(succeeded(decisions))).body.results).toMatchObject([{ late: true }])
    const again = await api().killWorkflow({ params: { workflow_id: workflowId }, body: {} })
    expect(again.body).toEqual({ workflow_id: workflowId, status: 'KILLED', sessions_killed: 0 })
  })

  proves('workflow.kill', 'sessions that are compromised or being recovered are killed with it', async () => {
    const { root, child, workflowId } = await handedOver()
    await child.decide([pay('8')])
    const params = { session_id: child.sessionId }
    expectStatus(await api().recoverSession({ params, body: { holder_id: 'b', takeover: true } }), 200)
    expectStatus(await api().reportBypass({ params: { session_id: root.sessionId }, body: {} }), 200)
    const statuses = async () => [(await root.load()).session.status, (await child.load()).session.status]
    expect(await statuses()).toEqual(['COMPROMISED', 'RECOVERING'])
    const { body } = await api().killWorkflow({ params: { workflow_id: workflowId }, body: {} })
    expect(body.sessions_killed).toBe(2)
    expect(await statuses()).toEqual(['KILLED', 'KILLED'])
  })

  proves('workflow.durable-status', async () => {
    const { workflowId } = await handedOver()
    await api().killWorkflow({ params: { workflow_id: workflowId }, body: {} })
    const restarted = createRuntime(readConfig({}), runtime.databaseUrl, { log: createLog({ level: 'error' }) })
    const later = createApi(appFetch(restarted.app), runtime.key)
    try {
      const view = expectStatus(await later.loadWorkflow({ params: { workflow_id: workflowId } }), 200).body
      expect(view).toEqual(await load(workflowId))
      expect(view.status).toBe('KILLED')
      expect((await tryJoin(later, { workflowId, role: 'researcher' })).problem.code).toBe('WORKFLOW_KILLED')
    } finally {
      await restarted.close()
    }
  })
})

test('the ledgers of the workflow and of its sessions hold, and tell the same story', async () => {
  const { root, child, workflowId, handoffId } = await handedOver({ tools: ['pay'] })
  await child.turn([pay('7')])
  await settle('completeHandoff', child, { workflowId, handoffId })
  await api().killWorkflow({ params: { workflow_id: workflowId }, body: {} })
  const exported = expectStatus(await api().exportWorkflowEvents({ params: { workflow_id: workflowId } }), 200).body
  expect(exported.events.map(({ type }) => type)).toEqual([
    'opened',
    'joined',
    'handoff_offered',
    'joined',
    'handoff_accepted',
    'resources_held',
    'resources_released',
    'handoff_completed',
    'killed',
  ])
  expect(verifyWorkflowChain(exported.events, exported.head)).toMatchObject({ ok: true })
  const [first, ...rest] = exported.events
  if (first === undefined) throw new Error('no events')
  expect(verifyWorkflowChain([{ ...first, at: '2020-01-01T00:00:00.000Z' }, ...rest])).toMatchObject({ brokenAt: 1 })
  expect(verifyWorkflowChain(exported.events.slice(0, -1), exported.head)).toMatchObject({ ok: false })
  const page = await api().exportWorkflowEvents({
    params: { workflow_id: workflowId },
    query: { after: '2', limit: '3' },
  })
  expect([page.body.events.map(({ seq }) => seq), page.body.next]).toEqual([[3, 4, 5], 5])
  for (const { sessionId } of [root, child]) {
    expect(await checkSession(runtime.sql, sessionId, await exportOf(api(), sessionId))).toEqual([])
  }
})

proves('workflow.only-when-enabled', async () => {
  const without = await startRuntime({ config: { COUNTERSIGN_WORKFLOWS: 'off' } })
  try {
    const answer = await tryJoin(without.api(), { workflowId: 'w', role: 'researcher' })
    expect([answer.status, answer.problem.code]).toEqual([404, 'WORKFLOWS_DISABLED'])
    const loaded = await without.api().loadWorkflow({ params: { workflow_id: 'w' } })
    expect([loaded.status, loaded.problem.code]).toEqual([404, 'WORKFLOWS_DISABLED'])
    const alone = await openSession(without.api(), { plan: PAYMENT_PLAN })
    expect((await alone.decide([pay('7')])).outcome).toBe('allowed')
  } finally {
    await without.close()
  }
})
