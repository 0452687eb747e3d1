import { randomUUID } from 'node:crypto'
import { ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { expireQuestions } from '../../../packages/server/src/questions/end-questions.js'
import { ASKING_PLAN, params, pay, withAsking } from '../../support/model/asking-people.js'
import { proves } from '../../support/proves.js'
import { expectStatus, openSession, receiptFor, succeeded } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { newOwner } from '../../support/runtime/team.js'

const {
  runtime,
  parts,
  api,
  owner,
  finance,
  approver,
  viewer,
  open,
  asked,
  load,
  answer,
  storedAnswers,
  proofOf,
  waitingList,
  mailbox,
  own,
} = await withAsking()
const plan = ASKING_PLAN

describe('asked, answered, used', () => {
  proves(
    ['question.asked', 'question.used-once'],
    'a call waits, a member says yes, any holder runs it once',
    async () => {
      const { session, id, decision } = await asked()
      expect(decision).toMatchObject({
        decision: 'block',
        reason: null,
        question: { state: 'waiting', have: 0, needed: 1 },
      })
      expect(await load(finance, id)).toMatchObject({
        question: { state: 'waiting', mine: true, tool_name: 'pay', reason: 'large payment', rule: 'pay#0' },
        card: { arguments: { amount: 300 }, tool_name: 'pay', session_id: session.sessionId },
        may: { answer: true, why_not: null },
      })
      const again = await session.decide(pay(300))
      expect(again.decisions[0]?.question?.question_id).toBe(id)
      const approved = await answer(finance, id, 'approve', { note: 'as agreed' })
      expect([approved.status, approved.body.question.state]).toEqual([200, 'approved'])
      expect((await waitingList(session)).body.questions).toMatchObject([
        {
          question_id: id,
          state: 'approved',
          arguments: { amount: 300 },
          note: 'as agreed',
          url: expect.stringContaining(`/questions/${id}`),
        },
      ])
      const { decisions } = await session.decide(pay(300))
      expect(decisions[0]).toMatchObject({ decision: 'allow', approval: { question_id: id, card_no: 1 } })
      const settled = await session.receipts(succeeded(decisions))
      expect(settled.body).toMatchObject({ committed: true })
      session.stateVersion = settled.body.state_version
      expect(await load(finance, id)).toMatchObject({
        question: { state: 'used' },
        answers: [{ by: finance.email, decision: 'approve', relation: 'unknown', note: 'as agreed' }],
      })
      const next = await session.decide(pay(300))
      expect(next.decisions[0]).toMatchObject({ decision: 'block', question: { state: 'waiting' } })
      expect(next.decisions[0]?.question?.question_id).not.toBe(id)
      expect(await proofOf(session)).toMatchObject({ verified: true, problem: null })
    },
  )

  proves('question.used-once', 'of fifty proposals at once one is registered', async () => {
    const { session, id } = await asked()
    await answer(finance, id)
    const prepared = await Promise.all(Array.from({ length: 50 }, () => session.preflight({ tools: [] })))
    const ids = prepared.flatMap(({ body }) => (body.outcome === 'prepared' ? [body.prepared_request_id] : []))
    const tried = await Promise.all(ids.map((one) => session.propose(one, pay(300))))
    const ran = tried.filter(({ status, body }) => status === 200 && body.decisions[0]?.pending_call_id !== null)
    expect(ran.length).toBeLessThanOrEqual(1)
    const [row] =
      await runtime.sql`select count(*)::int as used from questions where question_id = ${id} and state = 'used'`
    expect(row?.used).toBe(ran.length)
  })

  proves('question.bound', 'the same call of another session is not lifted', async () => {
    const { id } = await asked()
    await answer(finance, id)
    const other = await asked()
    expect(other.id).not.toBe(id)
    expect(other.decision).toMatchObject({ decision: 'block', question: { state: 'waiting' } })
  })

  test('a holder that takes over redeems', async () => {
    const { session, id } = await asked()
    await answer(finance, id)
    const target = { session_id: session.sessionId }
    const { body } = await api.recoverSession({ params: target, body: { holder_id: 'holder-2', takeover: true } })
    expect(body.in_doubt).toEqual([])
    session.fence = body.fence
    const { decisions } = await session.decide(pay(300))
    expect(decisions[0]).toMatchObject({ decision: 'allow', approval: { question_id: id } })
  })

  proves(
    'question.denied-is-final',
    'a refused call stays blocked and is not asked again, a hundred times',
    async () => {
      const { session, id } = await asked()
      expect((await answer(finance, id, 'deny', { note: 'unknown supplier' })).body.question.state).toBe('denied')
      for (let again = 0; again < 100; again++) {
        const { decisions } = await session.decide(pay(300))
        expect(decisions[0]).toMatchObject({
          decision: 'block',
          reason: 'checkpoint_denied',
          remedy: 'A person refused this call of pay: unknown supplier.',
          question: { question_id: id, state: 'denied' },
        })
      }
      expect((await waitingList(session)).body.questions).toHaveLength(1)
    },
  )
})

proves('question.denied-is-final', 'a member who said yes says no before the call has run', async () => {
  const { session, id } = await asked()
  await answer(finance, id)
  expect((await load(finance, id)).may).toMatchObject({ answer: false, deny: true })
  expect((await load(viewer, id)).may).toMatchObject({ deny: false })
  expect((await load(approver, id)).may).toMatchObject({ deny: false })
  expect((await answer(finance, id, 'deny', { note: 'wrong supplier' })).body).toMatchObject({
    question: { state: 'denied' },
    may: { deny: false },
  })
  expect((await session.decide(pay(300))).decisions[0]).toMatchObject({
    reason: 'checkpoint_denied',
    remedy: 'A person refused this call of pay: wrong supplier.',
  })
  expect(await proofOf(session)).toMatchObject({ verified: true })
})

describe('who may answer', () => {
  proves('question.eligible', 'a viewer, and an approver outside the group, get 403 and nothing changes', async () => {
    const { id } = await asked()
    expect((await answer(viewer, id)).code).toBe('ROLE_NEEDED')
    const refused = await answer(approver, id)
    expect([refused.status, refused.code]).toEqual([403, 'NOT_ELIGIBLE'])
    expect(refused.text).toContain('It asks finance, and you are not one.')
    expect((await load(approver, id)).may).toMatchObject({
      answer: false,
      why_not: 'It asks finance, and you are not one.',
    })
    expect(await storedAnswers(id)).toEqual([])
  })

  proves('question.eligible', 'who joins the group after the card may answer only once it is asked again', async () => {
    const { id } = await asked()
    await owner.call('changeMember', { params: { user_id: approver.userId }, body: { groups: ['finance'] } })
    const refused = await answer(approver, id)
    expect([refused.status, refused.code]).toEqual([403, 'NOT_ELIGIBLE'])
    expect((await finance.call('askAgain', { params: params(id) })).code).toBe('ROLE_NEEDED')
    expect((await owner.call('askAgain', { params: params(id) })).body.question).toMatchObject({ card_no: 2, have: 0 })
    expect((await answer(approver, id)).status).toBe(200)
    await owner.call('changeMember', { params: { user_id: approver.userId }, body: { groups: [] } })
  })

  test('asked again, it has its time from then on, and people are told again', async () => {
    const { id } = await asked()
    const stored = async () => {
      const [row] = await runtime.sql<{ seconds: number }[]>`
        select round(extract(epoch from expires_at - card_at))::int as seconds from questions where question_id = ${id}`
      return row?.seconds
    }
    const kinds = async () =>
      (await runtime.sql<{ kind: string }[]>`select kind from deliveries where question_id = ${id}`).map(
        ({ kind }) => kind,
      )
    const seconds = await stored()
    expect((await kinds()).filter((kind) => kind.startsWith('asked'))).toEqual(['asked'])
    for (let again = 2; again <= 3; again++) {
      await runtime.sql`update questions set asked_at = asked_at - interval '1 hour' where question_id = ${id}`
      expect((await owner.call('askAgain', { params: params(id) })).body.question).toMatchObject({ card_no: again })
      expect(await stored()).toBe(seconds)
    }
    expect((await kinds()).filter((kind) => kind.startsWith('asked')).sort()).toEqual([
      'asked',
      'asked-card-2',
      'asked-card-3',
    ])
  })

  proves('question.eligible', 'demoted, disabled or signed out before the click: 403 or 401', async () => {
    const { id } = await asked()
    const { card_hash } = await load(finance, id)
    const body = { card_hash, decision: 'approve' as const }
    const change = (given: object) => owner.call('changeMember', { params: { user_id: finance.userId }, body: given })
    await change({ role: 'viewer' })
    expect((await finance.call('answerQuestion', { params: params(id), body })).status).toBe(403)
    await change({ role: 'approver' })
    // A role that is new is a new right.
    expect((await finance.call('answerQuestion', { params: params(id), body })).code).toBe('NOT_ELIGIBLE')
    await change({ disabled: true })
    expect((await finance.call('answerQuestion', { params: params(id), body })).status).toBe(401)
    await change({ disabled: false })
    expect(await storedAnswers(id)).toEqual([])
    await finance.login()
  })

  proves('question.eligible', 'another tenant: as unknown', async () => {
    const { id } = await asked()
    const stranger = await newOwner(own(), mailbox)
    const unknown = await stranger.call('loadQuestion', { params: params('Q-UNKNOWN') })
    for (const name of ['loadQuestion', 'askAgain'] as const) {
      const answered = await stranger.call(name, { params: params(id) })
      expect([answered.status, answered.code]).toEqual([404, unknown.code])
    }
    const body = { card_hash: 'a'.repeat(64), decision: 'approve' as const }
    expect((await stranger.call('answerQuestion', { params: params(id), body })).status).toBe(404)
    expect((await stranger.call('listQuestions')).body.items).toEqual([])
  })

  proves(
    'question.no-key',
    'no key answers: each route of programs leaves the answers empty, answer routes want a cookie',
    async () => {
      const { session, id } = await asked()
      const { card_hash } = await load(finance, id)
      const ids = { session_id: session.sessionId, question_id: id, workflow_id: 'w', handoff_id: 'h', run_id: 'r' }
      const body = {
        card_hash,
        decision: 'approve',
        question_id: id,
        fence: session.fence,
        approvals: [{ decision: 'approve' }],
      }
      const keyed = (Object.entries<Route>(ROUTES) as [RouteName, Route][]).filter(([, { auth }]) => auth === 'api_key')
      for (const [name, { method }] of keyed.filter(([name]) => name !== 'withdrawQuestion')) {
        const call = api[name] as unknown as (given: object) => Promise<unknown>
        await call({ params: ids, ...(method === 'POST' && { body }) }).catch(() => null)
      }
      for (const name of ['answerQuestion', 'answerQuestions', 'askAgain'] as const) {
        const call = api[name] as unknown as (given: object) => Promise<{ status: number }>
        expect((await call({ params: ids, body })).status).toBe(401)
      }
      expect(await storedAnswers(id)).toEqual([])
      const page = `/api/dashboard/questions/${id}/answer`
      for (const method of ['GET', 'HEAD']) {
        expect((await runtime.fetch(new Request(`http://127.0.0.1:4319${page}`, { method }))).status).toBeGreaterThan(
          400,
        )
      }
      expect((await load(finance, id)).question.state).not.toBe('approved')
    },
  )

  proves('question.no-person', 'sessions of a key that acts for no person ask several', async () => {
    const made = await owner.call('createKey', { body: { name: 'nightly', principal: 'none' } })
    expect(made.body.key.principal).toBe('none')
    const four = [{ name: 'four_eyes', args: {} }]
    const nightly = runtime.api(made.body.api_key)
    const session = await openSession(nightly, { plan })
    expect(session.created.session.principal_proof).toBe('no_person')
    const { id } = await asked(four, session)
    expect((await answer(finance, id)).body.question).toMatchObject({ state: 'waiting', have: 1 })
    expect((await answer(approver, id)).body).toMatchObject({
      question: { state: 'approved', principal_proof: 'no_person' },
      answers: [{ relation: 'other' }, { relation: 'other' }],
    })
    expect((await session.decide(four)).decisions[0]?.decision).toBe('allow')
    expect(await proofOf(session)).toMatchObject({ verified: true })
    // The word of the program counts for more where it names a person: that one could be who answers.
    const told = await openSession(nightly, { plan, principal: { id: 'ada' } })
    expect((await told.decide(four)).decisions[0]).toMatchObject({ reasons: [{ detail: 'not_asked' }] })
    const plain = await openSession(api, { plan })
    expect((await plain.decide(four)).decisions[0]).toMatchObject({ reasons: [{ detail: 'not_asked' }] })
    expect((await owner.call('revokeKey', { params: { key_id: made.body.key.key_id } })).status).toBe(200)
  })

  proves('question.not-asked', 'a told principal and a rule for others: not asked', async () => {
    const session = await open({ principal: 'ada' })
    const { decisions } = await session.decide([{ name: 'four_eyes', args: {} }])
    expect(decisions[0]).toMatchObject({ reason: 'checkpoint_denied', reasons: [{ detail: 'not_asked' }] })
  })

  proves(
    'question.not-asked',
    'a plan that nobody can answer opens no session, and one without arguments neither',
    async () => {
      const lonely = planOf([{ tool: 'x', checkpoint: { reason: 'r', ask: { role: 'nobody-there' } } }])
      const body = (given: object) => ({
        session_id: `ses-${randomUUID()}`,
        holder_id: 'h',
        compiled_hash: lonely.compiled_hash,
        compiled_session: lonely.compiled_session,
        ...given,
      })
      const refused = await api.createSession({ body: body({}) })
      expect([refused.status, refused.problem.code]).toEqual([409, 'ASK_UNANSWERABLE'])
      expect(refused.problem.detail).toContain('members of nobody-there')
      const scope = { agent: `lonely-${randomUUID()}`, environment: 'production' } as const
      const files = [{ file: 'x.yaml', text: 'tool: x\ncheckpoint: { reason: r, ask: { role: nobody-there } }\n' }]
      const { plan: draft } = expectStatus(await api.submitPlan({ body: { ...scope, files } }), 201).body
      const approval = await owner.call('approvePlan', { params: { plan_id: draft.plan_id }, body: { why: 'x' } })
      expect([approval.code, approval.text.includes('members of nobody-there')]).toEqual(['PLAN_BLOCKED', true])
      const blind = await api.createSession({
        body: body({
          compiled_hash: plan.compiled_hash,
          compiled_session: plan.compiled_session,
          capture_level: 'metadata',
        }),
      })
      expect(blind.problem.code).toBe('ASK_NEEDS_ARGUMENTS')
    },
  )
})

describe('one answer', () => {
  proves('question.one-order', 'the same answer again is one row; another is refused, with who decided', async () => {
    const { id } = await asked([{ name: 'mail', args: { to: 'a' } }])
    const { card_hash } = await load(approver, id)
    const body = { card_hash, decision: 'approve' as const }
    for (let again = 0; again < 3; again++) {
      expect((await approver.call('answerQuestion', { params: params(id), body })).status).toBe(200)
    }
    expect(await storedAnswers(id)).toHaveLength(1)
    const second = await owner.call('answerQuestion', { params: params(id), body })
    expect([second.status, second.code]).toEqual([409, 'QUESTION_DECIDED'])
    expect(second.text).toContain(approver.email)
  })

  proves('question.one-order', 'a yes and a no at once, on two instances, have one order', async () => {
    for (let round = 0; round < 5; round++) {
      const { session, id } = await asked([{ name: 'mail', args: { to: String(round) } }])
      const [yes, no] = await Promise.all([answer(approver, id), answer(owner, id, 'deny')])
      expect(no.status === 200 || no.code === 'QUESTION_DECIDED').toBe(true)
      const { state } = (await load(owner, id)).question
      expect(state).toBe(no.status === 200 ? 'denied' : 'approved')
      expect(yes.status === 200 || yes.code === 'QUESTION_DECIDED').toBe(true)
      expect(await proofOf(session)).toMatchObject({ verified: true })
    }
  })

  test('another card: 409, and the answer to it counts for nothing', async () => {
    const { id } = await asked()
    const stale = (await load(owner, id)).card_hash
    await owner.call('askAgain', { params: params(id) })
    const late = await finance.call('answerQuestion', {
      params: params(id),
      body: { card_hash: stale, decision: 'deny' },
    })
    expect([late.status, late.code]).toEqual([409, 'QUESTION_CHANGED'])
    expect(await storedAnswers(id)).toEqual([])
  })

  test('several at once, each by itself', async () => {
    const one = await asked([{ name: 'mail', args: { to: 'x' } }])
    const two = await asked(pay(300))
    const cards = await Promise.all(
      [one.id, two.id].map(async (id) => ({ question_id: id, card_hash: (await load(approver, id)).card_hash })),
    )
    const { body } = await approver.call('answerQuestions', {
      body: {
        answers: [
          ...cards.map((card) => ({ ...card, decision: 'approve' as const })),
          { question_id: 'Q-NONE', card_hash: 'a'.repeat(64), decision: 'deny' },
        ],
      },
    })
    expect(body.results).toMatchObject([
      { question_id: one.id, state: 'approved', problem: null },
      { question_id: two.id, state: null, problem: { code: 'NOT_ELIGIBLE' } },
      { question_id: 'Q-NONE', state: null, problem: { code: 'NOT_FOUND' } },
    ])
  })
})

describe('the end of a question', () => {
  proves('question.withdrawn-by-kill', 'a kill withdraws; later clicks and proposals read so', async () => {
    const { session, id } = await asked()
    const { card_hash } = await load(finance, id)
    await api.killSession({ params: { session_id: session.sessionId }, body: {} })
    expect((await load(finance, id)).question).toMatchObject({ state: 'withdrawn', cause: 'killed' })
    const late = await finance.call('answerQuestion', { params: params(id), body: { card_hash, decision: 'approve' } })
    expect([late.status, late.code]).toEqual([409, 'QUESTION_DECIDED'])
    expect(await storedAnswers(id)).toEqual([])
    expect(await proofOf(session)).toMatchObject({ verified: true })
  })

  proves('question.withdrawn-by-kill', 'an answer racing a kill is never usable', async () => {
    for (let round = 0; round < 5; round++) {
      const { session, id } = await asked()
      const kill = api.killSession({ params: { session_id: session.sessionId }, body: {} })
      const [, answered] = await Promise.all([kill, answer(finance, id)])
      expect([200, 409]).toContain(answered.status)
      expect((await load(finance, id)).question.state).toBe('withdrawn')
      expect((await session.preflight()).problem.code).toBe('SESSION_KILLED')
      expect(await proofOf(session)).toMatchObject({ verified: true })
    }
  })

  test('the holder withdraws', async () => {
    const { session, id } = await asked()
    const at = { session_id: session.sessionId, question_id: id }
    expect((await api.withdrawQuestion({ params: at, body: { fence: session.fence + 1 } })).problem.code).toBe(
      'FENCE_STALE',
    )
    for (let again = 0; again < 2; again++) {
      const withdrawn = expectStatus(await api.withdrawQuestion({ params: at, body: { fence: session.fence } }), 200)
      expect(withdrawn.body).toMatchObject({ state: 'withdrawn', cause: 'holder' })
    }
    const { decisions } = await session.decide(pay(300), { redeems: [{ call_id: 'call_0', question_id: id }] })
    expect(decisions[0]).toMatchObject({ reason: 'checkpoint_denied', question: { state: 'withdrawn' } })
  })

  proves('question.withdrawn-by-kill', 'an erasure withdraws and takes card, notes and names away', async () => {
    const { session, id } = await asked()
    const decided = await asked([{ name: 'mail', args: { to: 'secret' } }], session)
    await answer(approver, decided.id, 'deny', { note: 'a secret note' })
    expect((await owner.call('eraseContent', { params: { session_id: session.sessionId } })).status).toBe(200)
    expect(await load(finance, id)).toMatchObject({ question: { state: 'withdrawn', cause: 'erased' }, card: null })
    expect((await load(finance, decided.id)).answers).toMatchObject([{ by: null, note: null }])
    const rows = await runtime.sql`
      select q::text as q, a::text as a from questions q left join answers a using (tenant_id, question_id)
      where q.session_id = ${session.sessionId}`
    expect(JSON.stringify(rows)).not.toContain('secret')
    expect(await proofOf(session)).toMatchObject({ verified: true })
  })

  proves('question.expire', 'a question whose time has passed takes no answer, and a job writes it down', async () => {
    const { session, id } = await asked()
    // The time of a question is in the state of its session; PostgreSQL's clock cannot be set.
    await runtime.sql`
      update session_heads set revision = 'moved', state = regexp_replace(state, '("until":")[^"]*', '\\12020-01-01T00:00:00.000Z')
      where session_id = ${session.sessionId}`
    await runtime.sql`update questions set expires_at = '2020-01-01' where question_id = ${id}`
    const late = await answer(finance, id)
    expect([late.status, late.code]).toEqual([409, 'QUESTION_DECIDED'])
    expect(late.text).toContain('expired')
    expect((await load(finance, id)).question).toMatchObject({ state: 'expired', mine: false })
    expect(await expireQuestions(parts)).toBe(1)
    const [row] = await runtime.sql`select state, cause from questions where question_id = ${id}`
    expect(row).toEqual({ state: 'expired', cause: 'time' })
    expect(await expireQuestions(parts)).toBe(0)
    expect((await session.decide(pay(300))).decisions[0]?.question?.question_id).not.toBe(id)
  })
})

describe('what the card names', () => {
  proves('question.plan-changed', 'another plan in force puts the question again, and answers are void', async () => {
    const scope = { agent: `buyer-${randomUUID()}`, environment: 'production' } as const
    const session = await openSession(api, { plan, ...scope })
    const { id } = await asked(pay(300), session)
    const { card_hash } = await load(finance, id)
    const files = [{ file: 'pay.yaml', text: 'tool: pay\nside_effect: financial\ngate: allow\n' }]
    const { plan: draft } = expectStatus(await api.submitPlan({ body: { ...scope, files } }), 201).body
    const approved = await owner.call('approvePlan', {
      params: { plan_id: draft.plan_id },
      body: { why: 'looks right' },
    })
    expect(approved.status).toBe(200)
    const late = await finance.call('answerQuestion', { params: params(id), body: { card_hash, decision: 'approve' } })
    expect([late.status, late.code]).toEqual([409, 'QUESTION_CHANGED'])
    expect((await load(finance, id)).question).toMatchObject({ state: 'waiting', card_no: 2, have: 0 })
    expect((await answer(finance, id)).status).toBe(200)
    expect((await session.decide(pay(300))).decisions[0]).toMatchObject({ decision: 'allow', approval: { card_no: 2 } })
    expect(await proofOf(session)).toMatchObject({ verified: true })
  })

  proves('question.verified', 'card, note and name that were changed in the database are named', async () => {
    const { session, id } = await asked([{ name: 'mail', args: { to: 'x' } }])
    await answer(approver, id, 'approve', { note: 'fine' })
    expect(await proofOf(session)).toMatchObject({ verified: true })
    const changes = [
      ['questions', 'card', `jsonb_set(card::jsonb, '{arguments,to}', '"y"')::json`, 'the card'],
      ['answers', 'note', `'not fine'`, 'the note'],
      ['answers', 'member_name', `'eve@example.test'`, 'the name'],
    ] as const
    for (const [table, column, value, named] of changes) {
      const [before] =
        await runtime.sql`select ${runtime.sql(column)}::text as was from ${runtime.sql(table)} where question_id = ${id}`
      await runtime.sql.unsafe(`update ${table} set ${column} = ${value} where question_id = $1`, [id])
      expect((await proofOf(session)).problem).toContain(named)
      const cast = column === 'card' ? '::json' : ''
      await runtime.sql.unsafe(`update ${table} set ${column} = $2${cast} where question_id = $1`, [id, before?.was])
    }
    expect(await proofOf(session)).toMatchObject({ verified: true })
  })
})

describe('the program waits', () => {
  test('a request waits until a question changes, and no longer than it says', async () => {
    const { session, id } = await asked()
    const { version } = (await waitingList(session)).body
    const startMs = performance.now()
    expect((await waitingList(session, { wait: '1', after: version })).body.version).toBe(version)
    expect(performance.now() - startMs).toBeGreaterThan(900)
    const changed = waitingList(session, { wait: '25', after: version })
    await answer(finance, id)
    expect((await changed).body).toMatchObject({ questions: [{ state: 'approved' }], retry_after: null })
    expect(performance.now() - startMs).toBeLessThan(20_000)
  })

  test('a receipt with an approval of an asked call is refused: nothing is pending', async () => {
    const { session, id, decision } = await asked()
    const hash = decision?.argument_hash ?? ''
    const receipt = receiptFor({ ...decision, pending_call_id: 'call_x', argument_hash: hash } as never, {
      approvals: [{ checkpoint_id: 'call_x#0', decision: 'approve', argument_hash: hash }],
    })
    expect((await session.receipts([receipt])).status).toBe(404)
    expect(await storedAnswers(id)).toEqual([])
  })

  test('a session that asks people for everything asks about plain checkpoints, too', async () => {
    const plain = planOf([{ tool: 'mail', checkpoint: { reason: 'a mail leaves' } }])
    const session = await openSession(api, { plan: plain, asks: 'people' })
    const { id } = await asked([{ name: 'mail', args: {} }], session)
    expect((await answer(approver, id)).status).toBe(200)
    expect((await session.decide([{ name: 'mail', args: {} }])).decisions[0]?.decision).toBe('allow')
  })

  test('lists and counts of calls leave out those that wait', async () => {
    const { session } = await asked()
    const { items } = (await owner.call('listCalls', { query: { session_id: session.sessionId } })).body
    expect(items).toEqual([])
    const row = (await owner.call('loadSessionDetail', { params: { session_id: session.sessionId } })).body.row
    expect(row).toMatchObject({ allowed: 0, blocked: 0 })
    expect((await owner.call('loadTimeline', { params: { session_id: session.sessionId } })).status).toBe(200)
    expect((await owner.call('loadOverview')).status).toBe(200)
  })
})
