import type { PlanDetail } from '@countersign/protocol'
import { beforeAll, expect, test } from 'vitest'
import { faultyDatabase } from '../support/postgres/faulty-database.js'
import { proves } from '../support/proves.js'
import { openSession } from '../support/runtime/governed-session.js'
import { createMailbox } from '../support/runtime/mailbox.js'
import { NOTHING_BESIDE } from '../support/runtime/nothing-beside.js'
import { Person } from '../support/runtime/person.js'
import type { Api } from '../support/runtime/runtime.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

let api: Api
/** The same person at two instances. */
let windows: [Person, Person]
const mailbox = createMailbox()
const store = faultyDatabase()
const { runtime } = await withRuntime({
  instances: 2,
  mailer: mailbox,
  wrapDatabase: store.wrap,
  parts: NOTHING_BESIDE,
})
beforeAll(async () => {
  const [first, second] = runtime.instances
  const ada = new Person(first.fetch)
  const { body } = await ada.signup()
  await runtime.sql`update tenants set quota = 'scale' where tenant_id = ${body.user.tenant_id}`
  await first.parts.accounts.mail.idle()
  await ada.call('verifyEmail', { body: { token: mailbox.tokenFor(ada.email) } })
  const elsewhere = new Person((second ?? first).fetch, { email: ada.email })
  await elsewhere.login(ada.password)
  windows = [ada, elsewhere]
  api = runtime.api(body.api_key)
})

const ROUNDS = 15
const textOf = (amount: number, note = '') =>
  `# ${note}\ntool: pay\nside_effect: read\nargument_value_invariants:\n  - { path: $.amount, lte: ${amount} }\n`
const filesOf = (amount: number, note?: string) => [{ file: 'contracts/pay.yaml', text: textOf(amount, note) }]
const submit = async (agent: string, amount: number): Promise<PlanDetail> => {
  const answer = await api.submitPlan({ body: { agent, environment: 'production', files: filesOf(amount) } })
  expect(answer.status).toBe(201)
  return answer.body
}
const params = ({ plan }: PlanDetail) => ({ plan_id: plan.plan_id })
const approve = (person: Person, detail: PlanDetail) =>
  person.call('approvePlan', {
    params: params(detail),
    body: { why: 'a race', compiled_hash: detail.plan.compiled_hash },
  })
const edit = (person: Person, detail: PlanDetail, files: ReturnType<typeof filesOf>) =>
  person.call('editPlan', { params: params(detail), body: { files, compiled_hash: detail.plan.compiled_hash } })

test('an edit against an approval, of the same contracts in other words: neither waits for the other in vain', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const agent = `same-${round}`
    const draft = await submit(agent, 5)
    const [edited, approved] = await Promise.all([
      edit(windows[0], draft, filesOf(5, `round ${round}`)),
      approve(windows[1], draft),
    ])
    expect([200, 409]).toContain(edited.status)
    expect(approved.status).toBe(200)
    if (edited.status === 409) expect(edited.body).toMatchObject({ code: 'PLAN_DECIDED', state: 'approved' })
  }
})

test('of two edits of what both windows showed one is saved, and the other gets a conflict', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const draft = await submit(`edited-${round}`, 5)
    const answers = await Promise.all(windows.map((person, at) => edit(person, draft, filesOf(10 + at))))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(answers.find(({ status }) => status === 409)?.code).toBe('PLAN_CHANGED')
    const saved = answers.find(({ status }) => status === 200)?.body.plan.compiled_hash
    expect((await windows[0].call('loadPlan', { params: params(draft) })).body.plan.compiled_hash).toBe(saved)
  }
})

proves('people.edits.none-lost', 'of two edits that differ in comments only one is saved, too', async () => {
  const draft = await submit('commented', 5)
  const save = (person: Person, note: string, files_hash: string) =>
    person.call('editPlan', { params: params(draft), body: { files: filesOf(5, note), files_hash } })
  const load = async () => (await windows[0].call('loadPlan', { params: params(draft) })).body
  for (let round = 0; round < 5; round++) {
    const { files_hash } = await load()
    const answers = await Promise.all(windows.map((person, at) => save(person, `round ${round}, ${at}`, files_hash)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    const refused = answers.findIndex(({ status }) => status === 409)
    expect(answers[refused]?.code).toBe('PLAN_CHANGED')
    // One after the other, whoever comes second saw what is no longer there.
    const late = await save(windows[0], 'late', files_hash)
    expect([late.status, late.code]).toEqual([409, 'PLAN_CHANGED'])
    const saved = await load()
    expect(saved.files[0]?.text).toContain(`# round ${round}, ${1 - refused}`)
    expect([saved.plan.compiled_hash, saved.files_hash === files_hash]).toEqual([draft.plan.compiled_hash, false])
  }
})

test('an approval against a rejection: one wins, and the other says what the plan is', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const draft = await submit(`judged-${round}`, 5)
    const answers = await Promise.all([
      approve(windows[0], draft),
      windows[1].call('rejectPlan', { params: params(draft), body: { why: 'a race' } }),
    ])
    const { state } = (await windows[0].call('loadPlan', { params: params(draft) })).body.plan
    const [winner, loser] = state === 'approved' ? answers : [...answers].reverse()
    expect([winner?.status, loser?.status]).toEqual([200, 409])
    expect(loser?.body).toMatchObject({ code: 'PLAN_DECIDED', state })
  }
})

test('two drafts approved at once: one is in force, the other was', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const agent = `twice-${round}`
    const drafts = [await submit(agent, 5), await submit(agent, 6)]
    const answers = await Promise.all(drafts.map((draft, at) => approve(windows[at] as Person, draft)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const states = await Promise.all(drafts.map((draft) => windows[0].call('loadPlan', { params: params(draft) })))
    const inForce = states.map(({ body }) => body.plan).filter(({ state }) => state === 'approved')
    expect(states.map(({ body }) => body.plan.state).sort()).toEqual(['approved', 'superseded'])
    const found = await api.lookupPlan({ query: { agent, environment: 'production' } })
    expect(found.body.compiled_hash).toBe(inForce[0]?.compiled_hash)
  }
})

/** What a person does about a plan or a session, as a request whose answer gets lost. */
const ACTS: Record<string, () => Promise<{ subject: string; send: () => Promise<{ status: number }> }>> = {
  approval: async () => {
    const draft = await submit('lost-approval', 5)
    return { subject: draft.plan.plan_id, send: () => approve(windows[0], draft) }
  },
  rejection: async () => {
    const draft = await submit('lost-rejection', 5)
    const given = { params: params(draft), body: { why: 'no' } }
    return { subject: draft.plan.plan_id, send: () => windows[0].call('rejectPlan', given) }
  },
  kill: async () => {
    const { sessionId } = await openSession(api)
    const given = { params: { session_id: sessionId }, body: { reason: 'enough' } }
    return { subject: sessionId, send: () => windows[0].call('killSessionByPerson', given) }
  },
  label: async () => {
    const { sessionId } = await openSession(api)
    const given = { params: { session_id: sessionId }, body: { label: 'tainted' } }
    return { subject: sessionId, send: () => windows[0].call('addLabelByPerson', given) }
  },
}

test.each(Object.entries(ACTS))('%s: an act whose answer was lost is done and audited once', async (_, act) => {
  const { subject, send } = await act()
  store.failNext('after')
  expect((await send()).status).toBe(503)
  expect((await send()).status).toBe(200)
  const audited =
    await runtime.sql`select action from audit_entries where subject = ${subject} and action <> 'plan_submitted'`
  expect(audited).toHaveLength(1)
})

test('an approval that is sent again after a newer plan was approved does not bring the older one back', async () => {
  const [older, newer] = [await submit('lost-then-newer', 5), await submit('lost-then-newer', 6)]
  store.failNext('after')
  expect((await approve(windows[0], older)).status).toBe(503)
  expect((await approve(windows[1], newer)).status).toBe(200)
  expect((await approve(windows[0], older)).body).toMatchObject({ code: 'PLAN_DECIDED', state: 'superseded' })
  const found = await api.lookupPlan({ query: { agent: 'lost-then-newer', environment: 'production' } })
  expect(found.body.compiled_hash).toBe(newer.plan.compiled_hash)
})

test('the last run of a budget, started twice at once under one id, is one run for both', async () => {
  const [row] = await runtime.sql<{ used: number }[]>`select count(*)::int as used from runs`
  const budget = (row?.used ?? 0) + 1
  const quotas = runtime.instances.map(({ parts }) => parts.config.quotas.scale as { runs: number })
  const before = quotas.map(({ runs }) => runs)
  try {
    for (const quota of quotas) quota.runs = budget
    const body = {
      run_id: 'last',
      plan: { compiled_hash: (await submit('budget', 5)).plan.compiled_hash },
      against: { fixtures: [{ name: 'one', turns: [{ calls: [{ name: 'pay', arguments: { amount: 1 } }] }] }] },
    }
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.createRun({ body })))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201))
    expect((await api.createRun({ body: { ...body, run_id: 'one-more' } })).status).toBe(429)
  } finally {
    quotas.forEach((quota, at) => {
      quota.runs = before[at] as number
    })
  }
})
