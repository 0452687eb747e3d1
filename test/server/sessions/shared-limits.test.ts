import { randomUUID } from 'node:crypto'
import type { Contract, JsonValue, SessionDefinition, SharedLimit } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { deleteEndedCounts } from '../../../packages/server/src/store/sessions/shared-counts.js'
import { checkSession } from '../../support/model/session-checker.js'
import { proves } from '../../support/proves.js'
import {
  attachSession,
  expectStatus,
  type GovernedSession,
  openSession,
  receiptFor,
  type ToolUse,
} from '../../support/runtime/governed-session.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { join, offer, openWorkflow, PAYMENT_CONTRACTS, pay } from '../../support/runtime/workflow.js'

const mailbox = createMailbox()
const { runtime, api } = await withRuntime({ instances: 2, mailer: mailbox })

const CONTRACTS: readonly Contract[] = [
  { tool: 'send_email', side_effect: 'write' },
  { tool: 'issue_refund', side_effect: 'write', evidence_class: 'local_transaction' },
  { tool: 'search', side_effect: 'read' },
]

const plan = (shared_limits: SharedLimit[], session: SessionDefinition = {}) =>
  planOf(CONTRACTS, { ...session, shared_limits })

const MAILS = 'send_email'
const mail = (to: JsonValue, id?: string): ToolUse => ({ name: MAILS, args: { to }, ...(id && { id }) })
const refund = (amount: JsonValue): ToolUse => ({ name: 'issue_refund', args: { amount } })

/** Names of limits are counted over the whole tenant: each test has its own. */
const named = (limit: Omit<SharedLimit, 'name'>): SharedLimit => ({ name: `l${randomUUID()}`.slice(0, 20), ...limit })

const perCustomer = () => named({ tool: MAILS, per: { argument: '$.to' }, max_calls: 3, window: '24h' })
const perUser = () => named({ tool: 'issue_refund', per: 'principal', sum: '$.amount', lte: 100, window: '30d' })

async function first(session: GovernedSession, ...calls: ToolUse[]) {
  const reply = await session.decide(calls)
  return { reply, decision: reply.decisions[0] as (typeof reply.decisions)[number] }
}

async function run(
  session: GovernedSession,
  call: ToolUse,
  outcome: 'succeeded' | 'failed' | 'not_executed' | 'unknown',
) {
  const { decision } = await first(session, call)
  if (decision.decision === 'allow') {
    const answer = expectStatus(await session.receipts([receiptFor(decision, { outcome })]), 200).body
    session.stateVersion = answer.state_version
  }
  return decision
}

describe('a limit that sessions share', () => {
  proves(
    ['contract.shared-limits', 'shared-limit.keys-hashed'],
    'counts for each value of an argument, whatever the session',
    async () => {
      const limited = plan([perCustomer()])
      for (const who of ['a@x.org', 'A@X.org', ' a@x.org ']) {
        const decision = await run(await openSession(api, { plan: limited }), mail(who), 'succeeded')
        expect(decision.decision).toBe('allow')
      }
      const session = await openSession(api, { plan: limited })
      const { decision } = await first(session, mail('a@x.org'))
      expect(decision).toMatchObject({ decision: 'block', reason: 'session_limit_exceeded' })
      const [block] = decision.reasons
      expect(block).toMatchObject({ detail: 'shared_limit', shared_limit: { left: '0' } })
      const freesAt = Date.parse(block?.shared_limit?.frees_at ?? '')
      expect(freesAt - Date.now()).toBeGreaterThan(23.9 * 3_600_000)
      expect(freesAt - Date.now()).toBeLessThan(25 * 3_600_000)
      expect((await first(session, mail('b@x.org'))).decision.decision).toBe('allow')
      const stored = await runtime.sql`select * from shared_limit_counts`
      expect(JSON.stringify(stored)).not.toContain('x.org')
      expect(await checkSession(runtime.sql, session.sessionId, await exportOf(api, session.sessionId))).toEqual([])
    },
  )

  test('sums for each principal by its id, and hides the tool once it is used up', async () => {
    const limited = plan([perUser()])
    const open = (principal: JsonValue) => openSession(api, { plan: limited, principal })
    expect((await run(await open({ id: 'ann', role: 'a' }), refund(60.1), 'succeeded')).decision).toBe('allow')
    expect((await run(await open('ann'), refund(40), 'succeeded')).reason).toBe('session_limit_exceeded')
    expect((await run(await open({ id: 'ann', role: 'b' }), refund(39.9), 'succeeded')).decision).toBe('allow')
    const prepared = expectStatus(await (await open('ann')).preflight(), 200).body
    expect(prepared).toMatchObject({ removed: [{ tool: 'issue_refund', reason: 'forbidden_in_state' }] })
    expect((await run(await open('bob'), refund(100), 'succeeded')).decision).toBe('allow')
    const refused = await api.createSession({
      body: { session_id: randomUUID(), holder_id: 'h', compiled_session: limited.compiled_session, principal: {} },
    })
    expect([refused.status, refused.problem.detail]).toEqual([400, expect.stringContaining('body.principal')])
  })

  test('counts the cost of model calls, also of blocked ones, and stops the next', async () => {
    const limited = plan([named({ cost: true, per: 'agent', lte: 2, window: '1d' })], {
      pricing: { '*': { input: 1, output: 1 } },
    })
    const open = (agent: string) => openSession(api, { plan: limited, agent })
    const spend = { model: 'm', usage: { input_tokens: 1_500_000, output_tokens: 0 } }
    const about = { provider: 'p', model: 'm' }
    const turn = async (session: GovernedSession) => {
      const prepared = expectStatus(await session.preflight(about), 200).body
      if (prepared.outcome !== 'prepared') return prepared
      return expectStatus(await session.propose(prepared.prepared_request_id, [mail('a')], spend), 200).body
    }
    expect(await turn(await open('one'))).toMatchObject({ outcome: 'allowed' })
    expect(await turn(await open('one'))).toMatchObject({
      outcome: 'blocked',
      decisions: [{ reasons: [{ detail: 'shared_limit' }] }],
    })
    expect(await turn(await open('one'))).toMatchObject({ outcome: 'blocked', detail: 'shared_limit' })
    expect(await turn(await open('two'))).toMatchObject({ outcome: 'allowed' })
  })

  proves('contract.shared-limits', 'counts for each workflow what its sessions do together', async () => {
    const limited = planOf(PAYMENT_CONTRACTS, {
      shared_limits: [named({ tool: 'pay', per: 'workflow', max_calls: 2, window: '1d' })],
    })
    const payer = async (workflowId: string) =>
      join(api, { workflowId, role: 'payer', handoffId: (await offer(giverOf(workflowId))).handoff_id, ...limited })
    const givers = new Map<string, GovernedSession>()
    const giverOf = (workflowId: string) => givers.get(workflowId) as GovernedSession
    for (const workflowId of [randomUUID(), randomUUID()]) {
      givers.set(workflowId, await openWorkflow(api, { workflowId, ...limited }))
      expect((await first(await payer(workflowId), pay('1'))).decision.decision).toBe('allow')
      const { decision } = await first(await payer(workflowId), pay('2'))
      expect(decision.decision).toBe('allow')
      expect((await first(await payer(workflowId), pay('3'))).decision).toMatchObject({
        reason: 'session_limit_exceeded',
        reasons: [{ detail: 'shared_limit', remedy: expect.stringContaining('for this workflow') }],
      })
    }
    const alone = { session_id: randomUUID(), holder_id: 'h', compiled_session: limited.compiled_session }
    const refused = await api.createSession({ body: alone })
    expect([refused.status, refused.problem.detail]).toEqual([400, expect.stringContaining('body.workflow')])
  })

  test('a clock that goes back frees nothing', async () => {
    const limit = perUser()
    const open = () => openSession(api, { plan: plan([limit]), principal: 'hal' })
    await run(await open(), refund(100), 'succeeded')
    // What was counted by a clock an hour ahead of today's.
    await runtime.sql`
      update shared_limit_counts set buckets = (select array_agg(b + 2) from unnest(buckets) b)
      where name = ${limit.name}`
    const decision = await run(await open(), refund(1), 'succeeded')
    expect(decision).toMatchObject({ reason: 'session_limit_exceeded', reasons: [{ shared_limit: { left: '0' } }] })
  })

  proves(
    'shared-limit.released',
    'gives back what a call took that did not run or was rolled back, and nothing else',
    async () => {
      const limited = plan([perUser()])
      const open = () => openSession(api, { plan: limited, principal: 'cy' })
      const session = await open()
      for (const outcome of ['not_executed', 'failed', 'not_executed'] as const) {
        expect((await run(session, refund(100), outcome)).decision).toBe('allow')
      }
      expect((await run(session, refund(70), 'unknown')).decision).toBe('allow')
      expect((await run(await open(), refund(40), 'succeeded')).decision).toBe('block')
      expect((await run(await open(), refund(30), 'succeeded')).decision).toBe('allow')
    },
  )

  test('a call that is refused takes nothing from the calls beside it, and they share what is left', async () => {
    const limited = plan([perCustomer(), perUser()])
    const open = () => openSession(api, { plan: limited, principal: 'dan' })
    const { reply } = await first(await open(), mail('d'), refund(-1))
    expect(reply.decisions.map(({ reason }) => reason)).toEqual([null, 'aggregate_path_missing'])
    const { reply: four } = await first(await open(), mail('d', '1'), mail('D', '2'), mail('d', '3'), mail('d', '4'))
    expect(four.decisions.map(({ decision }) => decision)).toEqual(['allow', 'allow', 'allow', 'block'])
    const { reply: three } = await first(await open(), mail('d', '1'), mail('d', '2'), mail('d', '3'))
    expect(three.outcome).toBe('allowed')
    expect((await first(await open(), mail('d'))).decision.decision).toBe('block')
  })

  test.each([
    ['missing', undefined],
    ['an object', { a: 1 }],
    ['a list', ['a']],
    ['empty', ''],
    ['blank', '  '],
    ['too long', 'x'.repeat(1_025)],
  ] as const)('a key that is %s blocks', async (_, to) => {
    const session = await openSession(api, { plan: plan([perCustomer()]) })
    const { decision } = await first(session, { name: MAILS, args: to === undefined ? {} : { to: to as JsonValue } })
    expect(decision).toMatchObject({ reason: 'argument_value_mismatch', reasons: [{ detail: 'key' }] })
  })

  test.each([-1, '5', null])('an amount of %s blocks', async (amount) => {
    const session = await openSession(api, { plan: plan([perUser()]), principal: 'eve' })
    const { decision } = await first(session, refund(amount as JsonValue))
    expect(decision.decision).toBe('block')
  })

  test('a retried proposal takes once, and a kill gives nothing back', async () => {
    const limited = plan([perUser()])
    const open = () => openSession(api, { plan: limited, principal: 'fay' })
    const session = await open()
    const prepared = expectStatus(await session.preflight({ prepared_request_id: 'once' }), 200).body
    expect(prepared.outcome).toBe('prepared')
    expectStatus(await session.propose('once', [refund(60)]), 200)
    const other = attachSession(runtime.api(runtime.key, runtime.instances[1]), session)
    expectStatus(await other.propose('once', [refund(60)]), 409)
    expectStatus(await api.killSession({ params: { session_id: session.sessionId }, body: {} }), 200)
    expect((await run(await open(), refund(50), 'succeeded')).decision).toBe('block')
    expect((await run(await open(), refund(40), 'succeeded')).decision).toBe('allow')
  })

  test('counts no longer when the window has passed, errs to the strict side, and its rows go', async () => {
    const limit = perUser()
    const limited = plan([limit])
    const open = () => openSession(api, { plan: limited, principal: 'gil' })
    await run(await open(), refund(100), 'succeeded')
    const age = (parts: number) => runtime.sql`
      update shared_limit_counts set buckets = (select array_agg(b - ${parts}) from unnest(buckets) b),
        expires_at = expires_at - ${parts} * interval '1 day'
      where name = ${limit.name}`
    await age(30)
    expect((await run(await open(), refund(1), 'succeeded')).decision).toBe('block')
    await age(1)
    expect((await run(await open(), refund(100), 'succeeded')).decision).toBe('allow')
    const rows = () =>
      runtime.sql`select cardinality(buckets) as parts from shared_limit_counts where name = ${limit.name}`
    expect(await rows()).toEqual([{ parts: 1 }])
    await deleteEndedCounts(runtime.sql, 1_000)
    expect(await rows()).toHaveLength(1)
    await age(62)
    await deleteEndedCounts(runtime.sql, 1_000)
    expect(await rows()).toEqual([])
  })
})

describe('labels that stick', () => {
  const sticky = planOf([
    { tool: 'read_page', side_effect: 'read', labels: { adds: ['untrusted'], sticks_to: 'principal' } },
    { tool: 'pay', side_effect: 'write', labels: { deny_when: ['untrusted'] } },
  ])
  const other = planOf([{ tool: 'pay', side_effect: 'write', labels: { deny_when: ['untrusted'] } }])

  proves(
    'label.sticks-to-principal',
    'new sessions of the same principal start with them, under any plan',
    async () => {
      const principal = { id: randomUUID() }
      const session = await openSession(api, { plan: sticky, principal })
      await session.turn([{ name: 'read_page', args: {} }])
      for (const next of [sticky, other]) {
        const { created, sessionId } = await openSession(api, { plan: next, principal: principal.id })
        expect(created.session.labels).toEqual(['untrusted'])
        const [event] = (await exportOf(api, sessionId)).events
        expect(event?.body).toMatchObject({ labels: ['untrusted'], sticky_labels: ['untrusted'] })
      }
      const stranger = await openSession(api, { plan: sticky, principal: 'someone else' })
      expect(stranger.created.session.labels).toEqual([])
      const stored = await runtime.sql`select * from sticky_labels`
      expect(JSON.stringify(stored)).not.toContain(principal.id)
    },
  )

  const stops = {
    killed: (id: string) => api.killSession({ params: { session_id: id }, body: {} }),
    'reported as bypassed': (id: string) => api.reportBypass({ params: { session_id: id }, body: {} }),
    ended: (id: string) => api.endSession({ params: { session_id: id }, body: { fence: 1 } }),
    'left alone': async () => undefined,
  }
  for (const [what, stop] of Object.entries(stops)) {
    proves(
      'label.sticks-from-the-allow',
      `a session that is ${what} before the receipt: the next one starts with them`,
      async () => {
        const principal = randomUUID()
        const session = await openSession(api, { plan: sticky, principal })
        const { decisions } = await session.decide([{ name: 'read_page', args: {} }])
        expect(decisions[0]?.decision).toBe('allow')
        await stop(session.sessionId)
        const next = await openSession(api, { plan: other, principal })
        expect(next.created.session.labels).toEqual(['untrusted'])
        const { decisions: judged } = await next.decide([{ name: 'pay', args: {} }])
        expect(judged[0]?.decision).toBe('block')
      },
    )
  }

  proves('label.sticks-from-the-allow', 'a label of two calls stays while one of them may have run', async () => {
    const principal = randomUUID()
    const labelsOfNext = async () => (await openSession(api, { plan: other, principal })).created.session.labels
    const session = await openSession(api, { plan: sticky, principal })
    const { decisions } = await session.decide([
      { name: 'read_page', args: { n: 1 } },
      { name: 'read_page', args: { n: 2 } },
    ])
    const [first, second] = decisions
    if (first === undefined || second === undefined) throw new Error('no decisions')
    expectStatus(await session.receipts([receiptFor(first, { outcome: 'not_executed' })]), 200)
    expect(await labelsOfNext()).toEqual(['untrusted'])
    expectStatus(await session.receipts([receiptFor(second, { outcome: 'succeeded' })]), 200)
    expect(await labelsOfNext()).toEqual(['untrusted'])
    const stored = await runtime.sql`select call_id from sticky_labels where call_id <> ''
      and call_id in (${first.pending_call_id}, ${second.pending_call_id})`
    expect(stored).toEqual([])
  })

  test('a call that did not run leaves none', async () => {
    const principal = randomUUID()
    const session = await openSession(api, { plan: sticky, principal })
    const { decisions } = await session.decide([{ name: 'read_page', args: {} }])
    const [decision] = decisions
    if (decision === undefined) throw new Error('no decision')
    expectStatus(await session.receipts([receiptFor(decision, { outcome: 'not_executed' })]), 200)
    expect((await openSession(api, { plan: sticky, principal })).created.session.labels).toEqual([])
  })
})

describe('what people see of it', () => {
  /** Somebody with a verified account, and the API of their tenant. */
  async function signUp() {
    await runtime.sql`delete from buckets`
    const person = new Person(runtime.fetch)
    const { body } = await person.signup()
    await runtime.instances[0].parts.accounts.mail.idle()
    await person.call('verifyEmail', { body: { token: mailbox.tokenFor(person.email) } })
    return { person, own: runtime.api(body.api_key) }
  }

  proves('people.shared-limits', 'what is used of each limit, for the keys that use most of it', async () => {
    const { person, own } = await signUp()
    const limits = async (query: Record<string, string> = {}) =>
      (await person.call('listSharedLimits', { query })).body.limits
    expect(await limits()).toEqual([])
    const byAgent = named({ per: 'agent', max_calls: 50, window: '1h' })
    const [byCustomer, byPerson] = [perCustomer(), perUser()]
    const limited = plan([byCustomer, byPerson, byAgent])
    const open = (principal: string) => openSession(own, { plan: limited, principal, agent: 'desk' })
    const session = await open('ann')
    for (const to of ['a@x.org', 'b@x.org', 'B@x.org']) await run(session, mail(to), 'succeeded')
    await run(session, refund(60.5), 'succeeded')
    await run(session, refund(30), 'not_executed')
    const seen = new Map((await limits()).map((limit) => [limit.name, limit]))
    expect(seen.get(byCustomer.name)).toMatchObject({ per: 'argument', counts: 'calls', window: '24h', most: '3' })
    expect(seen.get(byCustomer.name)?.keys.map(({ name, used }) => [name, used])).toEqual([
      [null, '2'],
      [null, '1'],
    ])
    expect(seen.get(byPerson.name)).toMatchObject({ most: '100', keys: [{ name: null, used: '60.5' }], keys_in_use: 1 })
    expect(seen.get(byAgent.name)?.keys).toMatchObject([{ name: 'desk', used: '4' }])
    const freesAt = Date.parse(seen.get(byPerson.name)?.keys[0]?.frees_at ?? '')
    expect(freesAt - Date.now()).toBeGreaterThan(29.9 * 86_400_000)
    // A key is found by its value, in any spelling that counts together.
    const [found, ...others] = await limits({ key: ' b@X.org' })
    expect([found?.name, found?.keys[0]?.used, others]).toEqual([byCustomer.name, '2', []])
    expect((await limits({ key: 'ann' })).map(({ name }) => name)).toEqual([byPerson.name])
    expect(await limits({ key: 'nobody' })).toEqual([])
    // What the engine counts no more is not shown as used, whenever the row was last written.
    await runtime.sql`
      update shared_limit_counts set buckets = (select array_agg(b - 31) from unnest(buckets) b)
      where name = ${byPerson.name}`
    expect((await limits({ key: 'ann' }))[0]?.keys).toMatchObject([{ used: '0', frees_at: null }])
    expect((await first(await open('ann'), refund(100))).decision.decision).toBe('allow')
    expect(await (await signUp()).person.call('listSharedLimits')).toMatchObject({ body: { limits: [] } })
  })

  proves('people.kept-keys', 'for how many keys a session keeps something, and which of its labels stick', async () => {
    const { person, own } = await signUp()
    const kept = planOf([
      { tool: 'read_page', side_effect: 'read', labels: { adds: ['untrusted'], sticks_to: 'principal' } },
      { tool: 'backup', side_effect: 'read' },
      {
        tool: 'pay',
        side_effect: 'write',
        aggregates: [{ name: 'paid', key: '$.id', path: '$.amount', lte: 5 }],
        preconditions: [{ requires_prior_tool: 'backup', consumes: true, same: [{ path: '$.id', as: '$.id' }] }],
      },
    ])
    const session = await openSession(own, { plan: kept, principal: 'ann', labels: ['vip'] })
    for (const id of ['a', 'b', 'c']) await session.turn([{ name: 'backup', args: { id } }])
    for (const id of ['a', 'b']) await session.turn([{ name: 'pay', args: { id, amount: 1 } }])
    await session.turn([{ name: 'read_page', args: {} }])
    const detail = async (session_id: string) =>
      (await person.call('loadSessionDetail', { params: { session_id } })).body
    expect(await detail(session.sessionId)).toMatchObject({
      sticky_labels: ['untrusted'],
      keys: [
        { kind: 'aggregates', name: 'paid', keys: 2 },
        { kind: 'openings', keys: 1 },
      ],
    })
    expect(await detail((await openSession(own)).sessionId)).toMatchObject({ sticky_labels: [], keys: [] })
  })
})
