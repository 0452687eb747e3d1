import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { countDecisions } from '../../../packages/server/src/store/dashboard/decision-counts.js'
import { eraseContent } from '../../../packages/server/src/store/sessions/content.js'
import { batchOf, mailConversation } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession, refund } from '../../support/runtime/governed-session.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import type { Api } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const mailbox = createMailbox()
let ada: Person
let eve: Person
let api: Api

/** Somebody with a verified account, and the API of their tenant. */
async function join(): Promise<{ person: Person; api: Api }> {
  await runtime.sql`delete from buckets`
  const person = new Person(runtime.fetch)
  const { body } = await person.signup()
  await runtime.sql`update tenants set quota = 'scale' where tenant_id = ${body.user.tenant_id}`
  await runtime.instances[0].parts.accounts.mail.idle()
  await person.call('verifyEmail', { body: { token: mailbox.tokenFor(person.email) } })
  return { person, api: runtime.api(body.api_key) }
}

const { runtime } = await withRuntime({ mailer: mailbox })
beforeAll(async () => {
  const one = await join()
  ada = one.person
  api = one.api
  eve = (await join()).person
})

const list = async (query: Record<string, string>) =>
  (await ada.call('listSessions', { query })).body.items.map(({ session_id }) => session_id)

describe('sessions in the dashboard', () => {
  test('are listed newest first, page by page, each once', async () => {
    const made: string[] = []
    for (let i = 0; i < 7; i += 1)
      made.push((await openSession(api, { session_id: `page-${i}`, agent: 'pager' })).sessionId)
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const { body }: { body: { items: { session_id: string }[]; next: string | null } } = await ada.call(
        'listSessions',
        {
          query: { agent: 'pager', limit: '3', ...(cursor === null ? {} : { cursor }) },
        },
      )
      seen.push(...body.items.map(({ session_id }) => session_id))
      cursor = body.next
    } while (cursor !== null)
    expect(seen).toEqual(made.reverse())
  })

  test('are found by reason, label, status, agent, beginning of the id and time', async () => {
    const blocked = await openSession(api, { session_id: 'find-blocked', agent: 'finder' })
    await blocked.decide([refund(50)])
    const labelled = await openSession(api, { session_id: 'find-labelled', agent: 'finder', labels: ['from_creation'] })
    await api.addLabel({ params: { session_id: labelled.sessionId }, body: { label: 'added_later' } })
    const moved = await openSession(api, { session_id: 'find-moved', agent: 'finder' })
    await moved.turn([LOOKUP])
    await moved.turn([refund(50)])
    await api.killSession({ params: { session_id: moved.sessionId }, body: {} })
    expect(await list({ reason: 'precondition_not_met' })).toEqual(['find-blocked'])
    expect(await list({ label: 'from_creation' })).toEqual(['find-labelled'])
    expect(await list({ label: 'added_later' })).toEqual(['find-labelled'])
    expect(await list({ label: 'money_moved' })).toEqual(['find-moved'])
    expect(await list({ status: 'KILLED', agent: 'finder' })).toEqual(['find-moved'])
    expect(await list({ q: 'find-l' })).toEqual(['find-labelled'])
    expect(await list({ q: 'finder' })).toHaveLength(3)
    expect(await list({ agent: 'finder', to: '2020-01-01T00:00:00Z' })).toEqual([])
    expect(
      await list({ agent: 'finder', from: '2020-01-01T00:00:00Z', reason: 'precondition_not_met', label: 'nothing' }),
    ).toEqual([])
    const { body } = await ada.call('listSessions', { query: { q: 'find-blocked' } })
    expect(body.items).toMatchObject([
      { allowed: 0, blocked: 1, last_reason: 'precondition_not_met', status: 'ACTIVE' },
    ])
  })

  test('tell their story: preflight, decision with rule and remedy, receipt, and the state after each event', async () => {
    const session = await openSession(api, { session_id: 'story', agent: 'teller' })
    await session.turn([LOOKUP])
    await session.decide([refund(900)])
    const { body } = await ada.call('loadTimeline', { params: { session_id: 'story' } })
    expect(body.items.map(({ type }) => type)).toEqual(['created', 'proposal', 'receipts', 'proposal'])
    const [, looked, received, refused] = body.items
    expect(looked?.preflight?.removed.map(({ tool }) => tool)).toContain('issue_refund')
    expect(looked?.calls).toMatchObject([
      {
        tool_name: 'lookup_order',
        decision: 'allow',
        arguments: LOOKUP.args,
        receipt: { outcome: 'succeeded', at_level: true },
      },
    ])
    expect([looked?.state.stateVersion, received?.state.stateVersion]).toEqual([0, 1])
    const [block] = refused?.calls[0]?.reasons ?? []
    expect(block).toMatchObject({
      reason: 'argument_value_mismatch',
      failures: [{ operator: 'lte', expected: 500, found: 900 }],
    })
    expect(block?.remedy).toEqual(expect.any(String))
    const rest = await ada.call('loadTimeline', { params: { session_id: 'story' }, query: { after: '2', limit: '1' } })
    expect(rest.body.items).toEqual([received])
    expect(rest.body.next).toBe(3)
    const detail = await ada.call('loadSessionDetail', { params: { session_id: 'story' } })
    expect(detail.body.session.state.stateVersion).toBe(1)
  })

  test('prove themselves, and a changed event is named', async () => {
    const session = await openSession(api, { session_id: 'proof' })
    await session.turn([LOOKUP])
    const good = (await ada.call('loadProof', { params: { session_id: 'proof' } })).body
    expect(good).toMatchObject({ verified: true, events: 3, problem: null })
    await runtime.sql`update session_events set body = jsonb_set(body::jsonb, '{outcome}', '"blocked"')::text where session_id = 'proof' and seq = 2`
    const bad = (await ada.call('loadProof', { params: { session_id: 'proof' } })).body
    expect(bad.verified).toBe(false)
    expect(bad.problem).toMatch(/^event 2: /)
  })

  test('are killed from the page: the agent is stopped, and the audit trail says by whom', async () => {
    const session = await openSession(api, { session_id: 'stopped' })
    const answer = await ada.call('killSessionByPerson', {
      params: { session_id: 'stopped' },
      body: { reason: 'odd refunds' },
    })
    expect(answer.body).toMatchObject({ status: 'KILLED', killed: true })
    expect((await session.preflight()).problem.code).toBe('SESSION_KILLED')
    const [entry] = (await ada.call('listAudit', { query: { limit: '1' } })).body.items
    expect(entry).toMatchObject({
      action: 'session_killed',
      actor: ada.email,
      subject: 'stopped',
      detail: 'odd refunds',
    })
  })

  test('are labelled by a person, for good and once; the audit trail says by whom', async () => {
    const session = await openSession(api, { session_id: 'labelled-by-hand' })
    const label = (text: string) =>
      ada.call('addLabelByPerson', { params: { session_id: session.sessionId }, body: { label: text } })
    expect((await label('vip')).body.labels).toEqual(['vip'])
    const again = await label('vip')
    expect([again.status, again.body.labels, again.body.ledger.seq]).toEqual([200, ['vip'], 2])
    for (const bad of ['', 'two words', 'ſ', 'x'.repeat(129)]) expect((await label(bad)).status).toBe(400)
    const { body } = await ada.call('listAudit')
    expect(body.items[0]).toMatchObject({ action: 'label_added', actor: ada.email, detail: 'vip' })
    await ada.call('killSessionByPerson', { params: { session_id: session.sessionId }, body: {} })
    expect((await label('too_late')).status).toBe(409)
  })

  test('lose their content when it is erased, and still prove themselves', async () => {
    const session = await openSession(api, {
      session_id: 'erased',
      principal: { id: 'p', secret: 'principal-content' },
    })
    await session.turn([LOOKUP])
    await session.decide([refund(900)])
    const others = await openSession(api, { session_id: 'untouched' })
    await others.turn([LOOKUP])
    // As workflow calls leave them: the name of what is held comes from a call's arguments.
    for (const id of ['erased', 'untouched']) {
      await runtime.sql`
        insert into resource_holds
        select tenant_id, 'w', session_id, 'c', 'h', 'order:1017', 'exclusive', created_at from sessions
        where session_id = ${id}`
    }
    await runtime.instances[0].parts.captures.flush()
    expect((await ada.call('eraseContent', { params: { session_id: 'erased' } })).status).toBe(200)
    const holds = await runtime.sql`select session_id, key_text from resource_holds order by session_id`
    expect(holds.map(({ sessionId, keyText }) => [sessionId, keyText])).toEqual([
      ['erased', null],
      ['untouched', 'order:1017'],
    ])
    const captures = (await ada.call('listCaptures')).body.items.map((capture) => capture.conversation_id)
    expect([captures.includes('erased'), captures.includes('untouched')]).toEqual([false, true])
    const { body } = await ada.call('loadTimeline', { params: { session_id: 'erased' } })
    expect(body.items.flatMap(({ calls }) => calls.map((call) => call.arguments))).toEqual([null, null])
    expect(JSON.stringify(body)).not.toContain('"found":900')
    expect((await ada.call('loadProof', { params: { session_id: 'erased' } })).body.verified).toBe(true)
  })

  test('stay erased: a capture that another process wrote down a moment later is not stored, one of a later turn is', async () => {
    const { parts } = runtime.instances[0]
    const session = await openSession(api, { session_id: 'late' })
    const ids = async () => {
      await parts.captures.flush()
      const { items } = (await ada.call('listCaptures', { query: { limit: '200' } })).body
      return items.filter(({ conversation_id }) => conversation_id === 'late').map(({ capture_id }) => capture_id)
    }
    const tenantId = (await ada.call('me')).body.user.tenant_id
    await session.turn([LOOKUP])
    let writing: Promise<void> | undefined
    // As the process that serves the dashboard does it, while this one has not written its captures yet.
    await runtime.sql.begin(async (tx) => {
      await eraseContent(tx, tenantId, 'late')
      writing = parts.captures.flush()
      await sleep(150)
    })
    await writing
    expect(await ids()).toEqual([])
    const later = await session.decide([LOOKUP])
    expect(await ids()).toEqual([later.proposal_id])
  })

  test("are nobody else's: a foreign session looks like an unknown one, on every route", async () => {
    await openSession(api, { session_id: 'private' })
    for (const name of [
      'loadSessionDetail',
      'loadTimeline',
      'loadProof',
      'killSessionByPerson',
      'addLabelByPerson',
      'eraseContent',
    ] as const) {
      const body =
        { killSessionByPerson: { body: {} }, addLabelByPerson: { body: { label: 'mine' } } }[name as string] ?? {}
      const foreign = await eve.call(name, { params: { session_id: 'private' }, ...body })
      const unknown = await eve.call(name, { params: { session_id: 'no-such' }, ...body })
      expect([name, foreign.status, foreign.text]).toEqual([name, 404, unknown.text])
    }
    expect((await eve.call('listSessions')).body.items).toEqual([])
  })
})

describe('the overview', () => {
  test('counts decisions by time, reason and agent, the same before and after they are summed up', async () => {
    const one = await join()
    const session = await openSession(one.api, { agent: 'summed' })
    await session.turn([LOOKUP])
    await session.decide([refund(900)])
    await session.decide([refund(901)])
    const load = async () => (await one.person.call('loadOverview', { query: { range: '1h' } })).body
    const fresh = await load()
    expect(fresh.totals).toMatchObject({
      allowed: 1,
      blocked: 2,
      sessions: 1,
      active_sessions: 1,
      killed: 0,
      calls_in_doubt: 0,
    })
    expect(fresh.reasons).toEqual([{ reason: 'argument_value_mismatch', count: 2 }])
    expect(fresh.agents).toMatchObject([{ agent: 'summed', sessions: 1, allowed: 1, blocked: 2 }])
    expect(fresh.spans).toHaveLength(61)
    const { body: timeline } = await one.person.call('loadTimeline', { params: { session_id: session.sessionId } })
    const blocks = timeline.items.flatMap(({ seq, calls }) =>
      calls.filter(({ decision }) => decision === 'block').map(({ index, tool_name }) => ({ seq, index, tool_name })),
    )
    const reason = 'argument_value_mismatch'
    expect(fresh.recent_blocks).toMatchObject(
      blocks.reverse().map((block) => ({ ...block, session_id: session.sessionId, agent: 'summed', reason })),
    )
    expect(fresh.recent_blocks).toHaveLength(2)
    await runtime.sql`update proposals set proposed_at = proposed_at - interval '10 minutes'`
    const moved = await load()
    const counted = () => runtime.sql`select sum(calls)::int as calls from decision_counts`
    const before = await counted()
    expect(await runtime.sql.begin((tx) => countDecisions(tx))).toBe(false)
    const after = await counted()
    expect(after).not.toEqual(before)
    expect(await runtime.sql.begin((tx) => countDecisions(tx))).toBe(false)
    expect(await counted()).toEqual(after)
    const summed = await load()
    // By their time: a minute may have begun between the two.
    const blockedAt = ({ spans }: typeof moved) =>
      spans.flatMap(({ at, blocked }) => (blocked === 0 ? [] : [{ at, blocked }]))
    expect(blockedAt(summed)).toEqual(blockedAt(moved))
    expect(blockedAt(moved)).not.toEqual([])
    expect(summed.totals).toEqual(moved.totals)
  })
})

test('the newest block is shown first, however many sessions began and blocked since its own began', async () => {
  const one = await join()
  const old = await openSession(one.api, { session_id: 'began-first' })
  for (let i = 0; i < 12; i++) await (await openSession(one.api, { session_id: `later-${i}` })).decide([refund(900)])
  await old.decide([refund(901)])
  const { body } = await one.person.call('loadOverview')
  expect(body.recent_blocks.map(({ session_id }) => session_id).slice(0, 2)).toEqual(['began-first', 'later-11'])
  expect(body.recent_blocks).toHaveLength(10)
})

describe('agents and limits', () => {
  proves('people.agents.agree', 'an agent shows what is enforced, and which plan governs it where', async () => {
    const one = await join()
    const session = await openSession(one.api, { agent: 'shown' })
    await session.turn([LOOKUP])
    const load = async () => (await one.person.call('listAgents')).body.agents
    const shown = { agent: 'shown', sessions: 1, calls: { enforced: 1, observed: 0, ungoverned: 0 }, coverage: 1 }
    expect(await load()).toMatchObject([shown])
    await runtime.instances[0].parts.captures.flush()
    await runtime.sql`update proposals set proposed_at = proposed_at - interval '10 minutes'`
    await runtime.sql`update captures set at = at - interval '10 minutes'`
    await runtime.sql`update sessions set created_at = created_at - interval '10 minutes'`
    await runtime.sql`update decision_counts_until set until = '2000-01-01'`
    await runtime.sql`delete from decision_counts`
    await runtime.sql`delete from session_counts`
    await runtime.sql.begin((tx) => countDecisions(tx))
    await runtime.sql`insert into approved_plans (tenant_id, agent, environment, compiled_hash)
      select tenant_id, agent, 'production', compiled_hash from sessions where session_id = ${session.sessionId}`
    const counted = await load()
    expect(counted).toMatchObject([shown])
    expect(counted[0]?.environments.map(({ status }) => status)).toEqual(['none', 'none', 'approved'])
    expect(counted[0]?.health).toEqual({
      status: 'healthy',
      blocked_calls: 0,
      unanswered_calls: 0,
      recovering: 0,
      compromised: 0,
      killed: 0,
    })
    const lost = await openSession(one.api, { agent: 'shown' })
    await lost.turn([LOOKUP])
    await lost.decide([refund(900)])
    await one.api.reportBypass({ params: { session_id: lost.sessionId }, body: {} })
    expect((await load())[0]?.health).toMatchObject({ status: 'degraded', blocked_calls: 1, compromised: 1 })
    await one.person.call('killSessionByPerson', { params: { session_id: session.sessionId }, body: {} })
    expect((await load())[0]?.health).toMatchObject({ status: 'degraded', compromised: 1, killed: 1 })
    // What the server judged is not merely observed; what nobody judged is, and ungoverned where its tool has no approved contract.
    await one.api.ingestCaptures(batchOf(mailConversation('shown', 'Ann', { timestamp: new Date().toISOString() })))
    const { parts } = runtime.instances[0]
    await parts.captures.flush()
    // Learning waits for receipts before it takes a governed capture.
    await runtime.sql`update unlearned_captures set due_at = due_at - interval '10 minutes'`
    while ((await learnCaptures(parts)) > 0);
    expect(await load()).toMatchObject([
      { agent: 'shown', calls: { enforced: 3, observed: 2, ungoverned: 1 }, coverage: 3 / 5 },
    ])
  })

  proves('people.agents.unnamed', async () => {
    const one = await join()
    const session = await openSession(one.api, { session_id: 'nameless' })
    await session.turn([LOOKUP])
    await session.decide([refund(900)])
    await (await openSession(one.api, { agent: 'default' })).turn([LOOKUP])
    await one.person.call('killSessionByPerson', { params: { session_id: session.sessionId }, body: {} })
    const { agents } = (await one.person.call('listAgents')).body
    expect(agents).toMatchObject([{ agent: 'default', sessions: 2, calls: { enforced: 3 } }])
    expect(agents[0]?.health).toMatchObject({ status: 'degraded', blocked_calls: 1, killed: 1 })
    const overview = (await one.person.call('loadOverview', { query: { range: '30d' } })).body
    expect(overview.agents).toMatchObject([{ agent: 'default', sessions: 2, allowed: 2, blocked: 1 }])
    const query = { agent: 'default' }
    expect((await one.person.call('listSessions', { query })).body.items).toHaveLength(2)
    expect((await one.person.call('listCalls', { query })).body.items).toHaveLength(3)
    const detail = (await one.person.call('loadSessionDetail', { params: { session_id: 'nameless' } })).body
    expect([detail.row.agent, detail.session.agent]).toEqual(['default', null])
  })

  test('limits show the quota, what is left in the buckets, runs and keys', async () => {
    const one = await join()
    await one.api.loadSession({ params: { session_id: 'none' } })
    const { body } = await one.person.call('loadLimits')
    expect(body).toMatchObject({ quota: 'scale', runs: { used: 0, limit: 100_000 }, keys: { active: 1, limit: 5 } })
    const read = body.buckets.find(({ bucket }) => bucket === 'read')
    expect(read?.available).toBeLessThanOrEqual(read?.per_minute ?? 0)
    expect(read?.available).toBeGreaterThan(0)
  })
})

describe('the playground', () => {
  const contracts = [
    { file: 'refund.yaml', text: 'tool: issue_refund\nargument_value_invariants:\n  - { path: $.amount, lte: 500 }\n' },
  ]
  const judge = async (body: Record<string, unknown>) =>
    (await ada.call('judgePlayground', { rawBody: JSON.stringify({ contracts, ...body }) })).body

  test('judges a response by the pack, reason by reason', async () => {
    const view = await judge({
      response: { tool_calls: [{ id: 'c1', name: 'issue_refund', arguments: '{"amount":900}' }] },
    })
    expect(view.ok).toBe(true)
    const [call] = view.calls
    expect(call).toMatchObject({ decision: 'block', reasons: [{ reason: 'argument_value_mismatch' }] })
    expect(call?.ladder).toHaveLength(24)
    expect(call?.ladder.filter(({ applies }) => applies)).toEqual([
      { reason: 'argument_value_mismatch', applies: true },
    ])
  })

  test('says where a pack is wrong', async () => {
    const view = await judge({
      contracts: [{ file: 'refund.yaml', text: 'tool: issue_refund\nargment_value_invariants: []\n' }],
      response: {},
    })
    expect(view).toMatchObject({ ok: false, calls: [], errors: [{ file: 'refund.yaml', line: 2 }] })
  })
})
