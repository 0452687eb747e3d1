import { compilePlan } from '@countersign/engine'
import type { PlanDetail } from '@countersign/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { learnCaptures, MAX_TOOLS } from '../../../packages/server/src/captures/learn-captures.js'
import { runJob } from '../../../packages/server/src/process/jobs/job.js'
import { watchRatesJob } from '../../../packages/server/src/process/jobs/watch-rates.js'
import { batchOf, capturesOf, mailConversation } from '../../support/data/captures.js'
import { craftedCapture } from '../../support/data/crafted-capture.js'
import { testSeed } from '../../support/data/rounds.js'
import { proves } from '../../support/proves.js'
import { expectStatus, openSession } from '../../support/runtime/governed-session.js'
import { Person } from '../../support/runtime/person.js'
import type { TestPlan } from '../../support/runtime/plans.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner: ada, api } = await withOwnedRuntime()

async function teach(agent: string, names: readonly string[]): Promise<void> {
  if (names.length > 0) await api.ingestCaptures(batchOf(names.flatMap((name) => mailConversation(agent, name))))
  while ((await learnCaptures(runtime.instances[0].parts)) > 0) {
    // Until nothing is left.
  }
}
/** Does it the first time, and says the same ever after. */
const once = <Result>(work: () => Promise<Result>): (() => Promise<Result>) => {
  let done: Promise<Result> | undefined
  return () => {
    done ??= work()
    return done
  }
}
const NAMES = ['Ann', 'Bob', 'Cleo', 'Dan', 'Eve', 'Flo', 'Gus', 'Hal', 'Ida', 'Joe']
const scope = (agent: string) => ({ agent, environment: 'production' as const })
const lookup = async (agent: string) => (await api.lookupPlan({ query: scope(agent) })).body
const inForce = async (agent: string) => {
  const { draft: _, ...approved } = await lookup(agent)
  return approved
}
const contractsOf = async (agent: string) => (await ada.call('listContracts', { query: { agent } })).body.contracts
const pack = (amount: number) => [
  {
    file: 'contracts/pay.yaml',
    text: `tool: pay\nside_effect: financial\nargument_value_invariants:\n  - { path: $.amount, lte: ${amount} }\n`,
  },
]

describe('learned contracts', () => {
  proves(
    [
      'learn.generates-contracts',
      'learn.scores-confidence',
      'learn.confidence.low',
      'learn.confidence.medium',
      'learn.confidence.high',
      'learn.updates-confidence',
      'limit.confidence',
    ],
    async () => {
      const confidences: string[] = []
      for (const [from, to] of [
        [0, 4],
        [4, 5],
        [5, 9],
        [9, 10],
      ] as const) {
        await teach('grower', NAMES.slice(from, to))
        const rows = await contractsOf('grower')
        expect(rows.map(({ tool_name }) => tool_name)).toEqual(['find_person', 'send_mail'])
        confidences.push(...new Set(rows.map(({ confidence, samples }) => `${samples} ${confidence}`)))
      }
      expect(confidences).toEqual(['4 low', '5 medium', '9 medium', '10 high'])
      const [, mail] = await contractsOf('grower')
      expect(mail?.source).toBe('inferred')
      expect(mail?.yaml).toContain('additionalProperties: false')
      expect(mail?.false_block_bound).toBeGreaterThan(0)
      expect(mail?.false_block_bound).toBeLessThan(0.5)
    },
  )
})

proves('learn.from-captures', 'contracts hold the structure, the types and the bounds of what was seen', async () => {
  const conversation = (n: number) =>
    capturesOf('clerk', `Pay bill B-${1000 + n} of ${n} for customer ${n}`, [
      {
        name: 'pay',
        args: {
          amount: n,
          currency: n % 2 === 0 ? 'EUR' : 'USD',
          urgent: n % 3 === 0,
          bill: { number: `B-${1000 + n}`, lines: [{ price: 1.5 }] },
          ...(n % 2 === 0 && { memo: 'lunch' }),
        },
      },
    ])
  await api.ingestCaptures(batchOf(Array.from({ length: 400 }, (_, n) => conversation(n + 1)).flat()))
  await teach('clerk', [])
  const [pay] = await contractsOf('clerk')
  const compiled = compilePlan({ contracts: [{ file: 'pay.yaml', text: pay?.yaml ?? '' }] })
  if (!compiled.ok) throw new Error('the learned contract does not compile')
  expect(compiled.compiled_session.contracts).toMatchObject([{ tool: 'pay', side_effect: 'financial' }])
  const line = {
    type: 'object',
    properties: { price: { type: 'number', minimum: 0, maximum: 100 } },
    required: ['price'],
    additionalProperties: false,
  }
  expect(compiled.compiled_session.contracts[0]?.arguments).toEqual({
    type: 'object',
    properties: {
      amount: { type: 'integer', minimum: 0, maximum: 10_000 },
      bill: {
        type: 'object',
        properties: {
          lines: { type: 'array', items: line, maxItems: 100 },
          number: { type: 'string', maxLength: 100, pattern: '^[A-Z]\\-[0-9]{4}$' },
        },
        required: ['lines', 'number'],
        additionalProperties: false,
      },
      currency: { type: 'string', enum: ['EUR', 'USD'] },
      memo: { type: 'string', enum: ['lunch'] },
      urgent: { type: 'boolean' },
    },
    required: ['amount', 'bill', 'currency', 'urgent'],
    additionalProperties: false,
  })
})

describe('a plan', () => {
  proves(
    [
      'endpoint.plan',
      'endpoint.plan.query',
      'endpoint.plan.approved',
      'endpoint.plan.metadata',
      'plan.lookup.says-approved',
      'plan-lookup.status',
      'plan-lookup.compiled-session',
      'plan-lookup.compiled-hash',
      'plan-lookup.metadata',
    ],
    'is none, draft, then approved, and what was approved is what the lookup hands out',
    async () => {
      expect(await lookup('desk')).toMatchObject({ status: 'none', compiled_session: null, compiled_hash: null })
      await teach('desk', NAMES)
      const drafted = await ada.call('draftPlan', { body: scope('desk') })
      expect(drafted.status).toBe(201)
      expect(drafted.body.blockers).toEqual([])
      const { plan_id, compiled_hash } = drafted.body.plan
      expect(await lookup('desk')).toMatchObject({ status: 'draft', compiled_session: null, draft: { plan_id } })
      const approved = await ada.call('approvePlan', { params: { plan_id }, body: { why: 'looks right' } })
      expect(approved.body.plan).toMatchObject({ state: 'approved', decided_by: ada.email, decided_why: 'looks right' })
      const found = await lookup('desk')
      expect(found).toMatchObject({ status: 'approved', compiled_hash, approved: { plan_id, approved_by: ada.email } })
      const next = await ada.call('draftPlan', { body: scope('desk') })
      const beside = await lookup('desk')
      // A newer draft changes nothing about what is approved.
      expect(beside).toEqual({ ...found, draft: expect.objectContaining({ plan_id: next.body.plan.plan_id }) })
      expect(found.compiled_session?.contracts.map(({ tool }) => tool)).toEqual(['find_person', 'send_mail'])
    },
  )

  /** The draft of an agent that was taught once, for whichever test comes first. */
  const draftRated = once(async () => {
    const words = (at: number) => ['alpha', 'beta', 'gamma', 'delta', 'omega'].map((word) => `${word}${at}`).join(' ')
    const captures = NAMES.flatMap((name, at) =>
      capturesOf('rated', `Send a mail to ${name} about ${words(at)}`, [
        { name: 'find_person', args: { name }, result: { name, email: `${name.toLowerCase()}@corp.example` } },
        { name: 'send_mail', args: { to: `${name.toLowerCase()}@corp.example`, body: `About ${words(at)}.` } },
      ]),
    )
    await api.ingestCaptures(batchOf(captures))
    await teach('rated', [])
    return (await ada.call('draftPlan', { body: { ...scope('rated'), alpha: 0.05 } })).body
  })

  const editRated = once(async () => {
    const { plan, files } = await draftRated()
    const edited = files.map(({ file, text }) => ({ file, text: text.replace('alpha: 0.05', 'alpha: 0.2') }))
    return (await ada.call('editPlan', { params: { plan_id: plan.plan_id }, body: { files: edited } })).body
  })

  proves('learn.rates.shown', async () => {
    const body = await draftRated()
    const session = body.files.find(({ file }) => file === 'session.yaml')?.text ?? ''
    expect(session).toContain(
      `# Measured on ${NAMES.length} captured requests, each judged by what was learned without it:`,
    )
    expect(session).toContain(
      '# source rules would fire in 0.0 % and block 0.0 % of them; unusual calls would ask in 0.0 %.',
    )
    expect(session).toMatch(/^ {2}alpha: 0.05$/m)
    expect(body.advisories.find(({ code }) => code === 'asking_rate')?.message).toMatch(
      new RegExp(`in about \\d+ % of the requests that resemble the ${NAMES.length} captured ones`),
    )
    const refused = await ada.call('draftPlan', { body: { ...scope('rated'), alpha: 1 } })
    expect(refused.status).toBe(400)
    expect(body.rates).toMatchObject({
      alpha: 0.05,
      requests: NAMES.length,
      promised: { blocked: 0 },
      choices: [{ alpha: 0.02 }, { alpha: 0.05 }, { alpha: 0.1, asked: expect.any(Number) }, { alpha: 0.2 }],
      measured: null,
      drift: null,
    })
    expect((await editRated()).rates).toMatchObject({ alpha: 0.2, promised: { asked: 0.2 } })
  })

  proves(['learn.rates.kept', 'limit.fair.watched-rates'], async () => {
    const params = { plan_id: (await editRated()).plan.plan_id }
    const approved = await ada.call('approvePlan', { params, body: { why: 'a rate I can bear' } })
    expect(approved.body.rates).toMatchObject({ measured: { sessions: 0, asked: 0, blocked: 0 }, drift: null })
    const { compiled_hash = '', compiled_session } = await lookup('rated')
    if (compiled_session == null) throw new Error('the plan is not in force')
    const plan = { compiled_hash, compiled_session } as never
    const run = async (sessions: number) => {
      for (let at = 0; at < sessions; at++) {
        const session = await openSession(api, { agent: 'rated', environment: 'production', plan })
        // A client that does not say where values were seen: source rules ask.
        await session.decide([{ name: 'send_mail', args: { to: 'eve@evil.example', body: 'Hello.' } }])
      }
    }
    const rates = async () => (await ada.call('loadPlan', { params })).body.rates
    await run(3)
    expect(await rates()).toMatchObject({ measured: { sessions: 3, asked: 3, blocked: 0 }, drift: null })
    await run(17)
    expect((await rates())?.drift).toMatch(
      /^20 of the newest 20 sessions asked a person, where at most 20 % were expected: the agent does other work/,
    )
    const { parts } = runtime.instances[0]
    expect(await runtime.sql`select promises_rates from approved_plans where agent = 'rated'`).toEqual([
      { promisesRates: true },
    ])
    await approveManyMore(params.plan_id)
    expect(await runJob(watchRatesJob, parts)).toBe(true)
    expect(await parts.metrics.registry.metrics()).toMatch(/^countersign_plan_drifts_total 1$/m)
    const drifting = async () => (await ada.call('loadOverview', { query: {} })).body.drifting_plans
    expect(await drifting()).toMatchObject([{ ...params, agent: 'rated', drift: (await rates())?.drift }])
    // It counts what begins: the same drift found again ten minutes later is not another one.
    const wait = () => runtime.sql`update approved_plans set rates_watched_at = now() - interval '601 s'`
    await wait()
    expect(await runJob(watchRatesJob, parts)).toBe(true)
    expect(await parts.metrics.registry.metrics()).toMatch(/^countersign_plan_drifts_total 1$/m)
    expect(await drifting()).toHaveLength(1)
    // One that cannot be measured is passed over, and comes last the next time.
    await wait()
    await runtime.sql`update approved_plans set rates_watched_at = now() - interval '1 day' where agent = 'rated'`
    await runtime.sql`update session_events set record = 'no JSON' where request_id is not null`
    expect(await runJob(watchRatesJob, parts)).toBe(true)
    // It was among the first ten that were taken.
    const first = await runtime.sql`
      select agent from approved_plans where rates_watched_at > now() - interval '1 minute' order by rates_watched_at limit 10`
    expect(first).toContainEqual({ agent: 'rated' })
    await runtime.sql`delete from session_events where record = 'no JSON'`
  })

  /** More plans in force, approved later, than a job looks at in one turn. */
  async function approveManyMore(planId: string): Promise<void> {
    await runtime.sql`
      insert into approved_plans (tenant_id, agent, environment, compiled_hash)
      select tenant_id, 'later-' || k, environment, compiled_hash
      from governance_plans, generate_series(1, 250) k where plan_id = ${planId}`
    await runtime.sql`
      insert into governance_plans
        (tenant_id, plan_id, agent, environment, state, compiled_hash, origin, files, contracts, created_at)
      select tenant_id, plan_id || k, 'later-' || k, environment, state, compiled_hash, origin, files, contracts, created_at
      from governance_plans, generate_series(1, 250) k where plan_id = ${planId}`
  }

  test('has a note for a whole field that a rule trusts if sentences stood in it too, and for no other', async () => {
    const files = [
      {
        file: 'contracts/read_note.yaml',
        text: 'tool: read_note\nside_effect: read\ncolumns:\n  - { path: $.body, holds: [id, prose] }\n  - { path: $.owner, holds: [email] }\n',
      },
      {
        file: 'contracts/send.yaml',
        text: 'tool: send\nside_effect: write\nsources:\n  - { path: $.to, from: [{ result: read_note, path: $.body }, { result: read_note, path: $.owner }] }\n',
      },
    ]
    const { body } = await api.submitPlan({ body: { ...scope('noted'), files } })
    expect(body.advisories.filter(({ code }) => code === 'open_flow').map(({ message }) => message)).toEqual([
      'send: $.to may be taken from cell $.body of the results of read_note, which the author of that text can choose',
    ])
  })

  test('is made of tools whatever they are called, also like the file of a session', async () => {
    const turns = ['session', 'Session', 'workflow'].map((name) => ({ name, args: { id: 'A-1' } }))
    await api.ingestCaptures(batchOf(capturesOf('odd-names', 'begin', turns)))
    await teach('odd-names', [])
    const drafted = await ada.call('draftPlan', { body: scope('odd-names') })
    expect([drafted.status, drafted.body.plan?.contracts, drafted.body.blockers]).toEqual([201, 3, []])
  })

  test('is made also where what was learned of a tool is too much for one: that tool stands in it by its name', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 1_500 }, (_, at) => [`${'long'.repeat(30)}${at}`, { type: 'string' }]),
    )
    const tools = [{ name: 'search_all', schema: { type: 'object', properties } }]
    await api.ingestCaptures(
      batchOf(capturesOf('wide', 'Search all', [{ name: 'search_all', args: { q: 'x' } }], { request: { tools } })),
    )
    await teach('wide', NAMES.slice(0, 5))
    const draft = await ada.call('draftPlan', { body: scope('wide') })
    expect([draft.status, draft.body.plan.contracts, draft.body.blockers]).toEqual([201, 3, []])
    const textOf = (tool: string) => draft.body.files.find(({ file }) => file.endsWith(`/${tool}.yaml`))?.text ?? ''
    expect(textOf('search_all')).toMatch(/^# Left out: what was learned about its arguments/m)
    expect(textOf('search_all')).toMatch(/^tool: search_all\nsource: inferred\nside_effect: read\n$/m)
    expect(textOf('send_mail')).toContain('arguments:')
    await ada.call('rejectPlan', { params: { plan_id: draft.body.plan.plan_id }, body: { why: 'a test' } })
  })

  test('is approved once, and approving it again changes nothing', async () => {
    const { body } = await api.submitPlan({ body: { ...scope('payer'), files: pack(10) } })
    const { plan_id } = body.plan
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        ada.call('approvePlan', { params: { plan_id }, body: { why: `reason ${at}` } }),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body: detail }) => detail.plan.decided_why)).size).toBe(1)
    const [count] =
      await runtime.sql`select count(*)::int as n from audit_entries where action = 'plan_approved' and subject = ${plan_id}`
    expect(count?.n).toBe(1)
  })

  test('that a program submits is in the audit trail under the key it came with, and so are its kills', async () => {
    const made = (await ada.call('createKey', { body: { name: 'nightly' } })).body
    const program = runtime.api(made.api_key)
    const { plan_id } = (await program.submitPlan({ body: { ...scope('by-key'), files: pack(10) } })).body.plan
    const session = await openSession(program)
    const kill = () => program.killSession({ params: { session_id: session.sessionId }, body: { reason: 'enough' } })
    expect([(await kill()).status, (await kill()).status]).toEqual([200, 200])
    await ada.call('revokeKey', { params: { key_id: made.key.key_id } })
    const { items } = (await ada.call('listAudit', { query: { limit: '4' } })).body
    const { key_id, name, prefix } = made.key
    const key = { key_id, name, prefix }
    expect(items).toMatchObject([
      { action: 'key_revoked', actor: ada.email, key: null },
      { action: 'session_killed', actor: null, key, subject: session.sessionId, detail: 'enough' },
      { action: 'plan_submitted', actor: null, key, subject: plan_id },
      { action: 'key_created', actor: ada.email, key: null },
    ])
    expect(JSON.stringify(items)).not.toContain(made.api_key)
  })

  test('is approved as it was looked at, or not at all', async () => {
    const { plan_id, compiled_hash } = (await api.submitPlan({ body: { ...scope('seen'), files: pack(10) } })).body.plan
    const params = { plan_id }
    const edited = await ada.call('editPlan', { params, body: { files: pack(10_000) } })
    const refused = await ada.call('approvePlan', { params, body: { why: 'ten at most', compiled_hash } })
    expect([refused.status, refused.code]).toEqual([409, 'PLAN_CHANGED'])
    expect((await lookup('seen')).status).toBe('draft')
    const body = { why: 'seen again', compiled_hash: edited.body.plan.compiled_hash }
    expect((await ada.call('approvePlan', { params, body })).body.plan.state).toBe('approved')
  })

  proves('people.plan-diff.before', 'supersedes the former one and says in words what changes', async () => {
    const first = (await api.submitPlan({ body: { ...scope('words'), files: pack(10) } })).body.plan
    await ada.call('approvePlan', { params: { plan_id: first.plan_id }, body: { why: 'start' } })
    const diff = await api.diffPlan({ body: { ...scope('words'), files: pack(99) } })
    expect(diff.body.running_hash).toBe(first.compiled_hash)
    expect(diff.body.changes).toEqual([
      { tool_name: 'pay', effect: 'allows', text: 'pay: bound: $.amount is at most 99 (was: $.amount is at most 10)' },
    ])
    const back = await api.diffPlan({ body: { ...scope('words'), files: pack(5) } })
    expect(back.body.changes).toEqual([
      { tool_name: 'pay', effect: 'blocks', text: 'pay: bound: $.amount is at most 5 (was: $.amount is at most 10)' },
    ])
    const second = (await api.submitPlan({ body: { ...scope('words'), files: pack(99) } })).body.plan
    await ada.call('approvePlan', { params: { plan_id: second.plan_id }, body: { why: 'raise' } })
    const states = (await ada.call('listPlans', { query: { agent: 'words' } })).body.items.map(({ state }) => state)
    expect(states).toEqual(['approved', 'superseded'])
    expect((await lookup('words')).compiled_hash).toBe(second.compiled_hash)
    const shown = (await ada.call('loadPlan', { params: { plan_id: second.plan_id } })).body
    expect(shown.changes).toEqual(diff.body.changes)
    const former = (await ada.call('loadPlan', { params: { plan_id: first.plan_id } })).body
    expect(former.changes.map(({ text }) => text).join()).not.toContain('99')
    expect((await ada.call('approvePlan', { params: { plan_id: first.plan_id }, body: { why: 'back' } })).code).toBe(
      'PLAN_DECIDED',
    )
  })

  test('cannot be approved while a tool in use has no contract', async () => {
    await teach('gap', NAMES)
    const { body } = await api.submitPlan({ body: { ...scope('gap'), files: pack(10) } })
    expect(body.blockers.map(({ tool_name }) => tool_name)).toEqual(['find_person', 'send_mail'])
    const refused = await ada.call('approvePlan', { params: { plan_id: body.plan.plan_id }, body: { why: 'hurry' } })
    expect([refused.status, refused.code]).toEqual([409, 'PLAN_BLOCKED'])
    expect((await lookup('gap')).status).toBe('draft')
  })

  test('that does not compile is refused with every fault, and nothing is stored', async () => {
    const files = [{ file: 'contracts/pay.yaml', text: 'tool: pay\nunknown: 1\n' }]
    const refused = await api.submitPlan({ body: { ...scope('faulty'), files } })
    expect([refused.status, refused.problem.code]).toEqual([400, 'PLAN_INVALID'])
    expect(String(refused.problem.detail)).toContain('contracts/pay.yaml:2')
    expect((await lookup('faulty')).status).toBe('none')
  })

  test('leaves nothing behind in later drafts when it is rejected, and brings back what stood before', async () => {
    const agent = 'refused'
    await teach(agent, NAMES.slice(0, 2))
    const written = (text: string) => [{ file: 'contracts/send_mail.yaml', text: `tool: send_mail\n${text}` }]
    const submit = async (text: string) =>
      (await api.submitPlan({ body: { ...scope(agent), files: written(text) } })).body.plan.plan_id
    const reject = (plan_id: string) => ada.call('rejectPlan', { params: { plan_id }, body: { why: 'no' } })
    const mailOf = async () => {
      const { files } = (await ada.call('draftPlan', { body: scope(agent) })).body
      return files.find(({ file }) => file.endsWith('send_mail.yaml'))?.text
    }
    const learned = await mailOf()
    await reject(await submit('side_effect: read\n'))
    expect(await mailOf()).toBe(learned)
    await submit('side_effect: write\n')
    const worse = await submit('side_effect: egress_read\n')
    expect(await mailOf()).toContain('egress_read')
    await ada.call('editPlan', { params: { plan_id: worse }, body: { files: written('side_effect: admin\n') } })
    expect(await mailOf()).toContain('admin')
    await reject(worse)
    expect(await mailOf()).toContain('side_effect: write')
    expect((await contractsOf(agent)).map(({ source }) => source)).toEqual(['inferred', 'customer'])
  })

  test('is listed once, page by page, beside others of the same millisecond, and so are captures', async () => {
    const agent = 'same-moment'
    const tenantId = (await ada.call('me')).body.user.tenant_id
    const plan = (await api.submitPlan({ body: { ...scope(agent), files: pack(10) } })).body.plan.plan_id
    const times = Array.from(
      { length: 7 },
      (_, at) => `2026-01-01T00:00:00.00${Math.floor(at / 5)}${900 - (at % 5) * 7}Z`,
    )
    for (const [at, time] of times.entries()) {
      // The ids run against the times: whoever compares milliseconds alone skips or repeats.
      await runtime.sql`
        insert into governance_plans
        select (g).* from (select jsonb_populate_record(g, ${JSON.stringify({ plan_id: `p${at}`, created_at: time })}::text::jsonb) as g
          from governance_plans g where tenant_id = ${tenantId} and plan_id = ${plan}) as copied`
      await runtime.sql`
        insert into captures (tenant_id, capture_id, agent, conversation_id, at, capture_level, tool_names, item)
        values (${tenantId}, ${`c${at}`}, ${agent}, 'c', ${time}::text::timestamptz, 'metadata', '{}', ${JSON.stringify({ response: { tool_calls: [] } })}::text::json)`
    }
    const walk = async (name: 'listPlans' | 'listCaptures', limit: number) => {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const query: Record<string, string> = { agent, limit: String(limit), ...(cursor === null ? {} : { cursor }) }
        const { body }: { body: { items: { plan_id?: string; capture_id?: string }[]; next: string | null } } =
          await ada.call(name, { query })
        seen.push(...body.items.map(({ plan_id, capture_id }) => plan_id ?? capture_id ?? ''))
        cursor = body.next
      } while (cursor !== null)
      return seen.filter((id) => id !== plan)
    }
    const newestFirst = [5, 6, 0, 1, 2, 3, 4]
    for (const limit of [1, 2, 3, 100]) {
      expect([limit, await walk('listPlans', limit)]).toEqual([limit, newestFirst.map((at) => `p${at}`)])
      expect([limit, await walk('listCaptures', limit)]).toEqual([limit, newestFirst.map((at) => `c${at}`)])
    }
    for (const cursor of ['', 'x', Buffer.from('99999999999999999999 p1').toString('base64url')]) {
      expect((await ada.call('listPlans', { query: { cursor } })).status).toBe(400)
    }
  })

  test('is rejected with a reason', async () => {
    const { plan_id } = (await api.submitPlan({ body: { ...scope('no'), files: pack(10) } })).body.plan
    const { body } = await ada.call('rejectPlan', { params: { plan_id }, body: { why: 'too wide' } })
    expect(body.plan).toMatchObject({ state: 'rejected', decided_why: 'too wide' })
    expect((await ada.call('approvePlan', { params: { plan_id }, body: { why: 'x' } })).code).toBe('PLAN_DECIDED')
    expect((await lookup('no')).status).toBe('none')
  })

  test('keeps what a person edited, whatever is learned later', async () => {
    await teach('edited', NAMES)
    const draft = (await ada.call('draftPlan', { body: scope('edited') })).body
    const files = draft.files.map(({ file, text }) => ({
      file,
      text: text.includes('tool: send_mail')
        ? `${text}aggregates:\n  - { name: mails, function: count, lte: 3 }\n`
        : text,
    }))
    const edited = await ada.call('editPlan', { params: { plan_id: draft.plan.plan_id }, body: { files } })
    expect(edited.status).toBe(200)
    await teach('edited', ['Kim', 'Lea'])
    const again: PlanDetail = (await ada.call('draftPlan', { body: scope('edited') })).body
    const mail = again.files.find(({ text }) => text.includes('tool: send_mail'))
    expect(mail?.text).toContain('source: customer')
    expect(mail?.text).toContain('lte: 3')
    expect((await contractsOf('edited')).map(({ source }) => source)).toEqual(['inferred', 'customer'])
  })

  test('that is approved is widened by no capture', async () => {
    await teach('crafted', NAMES)
    const { plan_id } = (await ada.call('draftPlan', { body: scope('crafted') })).body.plan
    await ada.call('approvePlan', { params: { plan_id }, body: { why: 'ok' } })
    const before = await inForce('crafted')
    await fc.assert(
      fc.asyncProperty(fc.array(craftedCapture('crafted'), { minLength: 10, maxLength: 40 }), async (captures) => {
        const { body } = expectStatus(await api.ingestCaptures(batchOf(captures)), 200)
        expect(body.accepted + body.duplicates + body.rejected.length).toBe(captures.length)
        await teach('crafted', ['Zed'])
        expect(await inForce('crafted')).toEqual(before)
        // What was crafted is to be seen, and to be approved by nobody but a person.
        const contracts = await contractsOf('crafted')
        const approved = contracts.filter((contract) => contract.approved).map(({ tool_name }) => tool_name)
        expect(approved).toEqual(['find_person', 'send_mail'])
        expect((await ada.call('draftPlan', { body: scope('crafted') })).status).toBe(201)
      }),
      { numRuns: 6, seed: testSeed() },
    )
  })

  test('is not widened by thousands of tools either, and what is stored of them is bounded', async () => {
    await teach('flooded', NAMES)
    const { plan_id } = (await ada.call('draftPlan', { body: scope('flooded') })).body.plan
    await ada.call('approvePlan', { params: { plan_id }, body: { why: 'ok' } })
    const before = await inForce('flooded')
    const [model] = mailConversation('flooded', 'Ann')
    if (model === undefined) throw new Error('no capture')
    for (let batch = 0; batch < 3; batch++) {
      const flood = Array.from({ length: 600 }, (_, at) => {
        const name = `tool_${batch}_${at}`
        return {
          ...model,
          capture_id: name,
          conversation_id: name,
          request: { tools: [{ name }] },
          response: { ...model.response, tool_calls: [{ id: 'x', name, arguments: '{"a":"b"}' }] },
          tool_names: [name],
          flows: undefined,
        }
      })
      expect((await api.ingestCaptures(batchOf(flood))).body.accepted).toBe(600)
    }
    await teach('flooded', ['Zed'])
    expect(await inForce('flooded')).toEqual(before)
    const [stored] = await runtime.sql<{ tools: number; bytes: number }[]>`
      select count(*)::int as tools, sum(length(summary::text))::int as bytes from learned_tools where agent = 'flooded'`
    expect(stored?.tools).toBe(MAX_TOOLS)
    expect(stored?.bytes).toBeLessThan(4 * 1024 * 1024)
  })

  proves(
    ['learn.dashboard-coverage', 'learn.dashboard-pass-rate'],
    'shows which share of the calls was under a contract in force, and which share of the judged ones passed',
    async () => {
      const coverage = async () =>
        (await ada.call('listAgents', {})).body.agents.find(({ agent }) => agent === 'shown')?.coverage
      const passRates = async () =>
        Object.fromEntries((await contractsOf('shown')).map(({ tool_name, pass_rate }) => [tool_name, pass_rate]))
      const timestamp = new Date().toISOString()
      await api.ingestCaptures(batchOf(NAMES.flatMap((name) => mailConversation('shown', name, { timestamp }))))
      await teach('shown', [])
      expect(await coverage()).toBe(0)
      expect(await passRates()).toEqual({ find_person: null, send_mail: null })
      const { plan_id } = (await ada.call('draftPlan', { body: scope('shown') })).body.plan
      await ada.call('approvePlan', { params: { plan_id }, body: { why: 'ok' } })
      // An approved plan covers the calls of sessions that have it, and no others.
      expect(await coverage()).toBe(0)
      const { compiled_hash, compiled_session } = await lookup('shown')
      const plan = { compiled_hash, compiled_session } as TestPlan
      const session = await openSession(api, { ...scope('shown'), session_id: 'covered', plan })
      await session.decide([{ name: 'find_person', args: { name: 'Ann' } }])
      expect(await coverage()).toBe(1 / 21)
      const judged = (decision: 'allow' | 'block') => ({
        timestamp,
        validation: {
          mode: 'shadow' as const,
          pass: decision === 'allow',
          calls: [{ index: 0, decision, reasons: [] }],
        },
      })
      const captures = NAMES.flatMap((name, at) => mailConversation('shown', name, judged(at < 4 ? 'allow' : 'block')))
      const other = capturesOf('shown', 'Look at the weather', [{ name: 'get_weather', args: { city: 'Rome' } }])
      await api.ingestCaptures(batchOf([...captures, ...other]))
      await teach('shown', [])
      expect(await passRates()).toEqual({ find_person: 0.4, get_weather: null, send_mail: 0.4 })
      expect(await coverage()).toBe(1 / 41)
    },
  )

  test('of another tenant is not there', async () => {
    const { plan_id } = (await api.submitPlan({ body: { ...scope('mine'), files: pack(10) } })).body.plan
    const eve = new Person(runtime.fetch)
    await runtime.sql`delete from buckets`
    await eve.signup()
    for (const name of ['loadPlan', 'approvePlan', 'rejectPlan'] as const) {
      const body = name === 'loadPlan' ? {} : { body: { why: 'x' } }
      expect((await eve.call(name, { params: { plan_id }, ...body })).status).toBe(404)
    }
    const other = await runtime.createTenant()
    expect((await runtime.api(other.key).lookupPlan({ query: scope('mine') })).body.status).toBe('none')
  })
})
