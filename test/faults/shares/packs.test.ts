import { afterAll, expect, test } from 'vitest'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import {
  createTaskThread,
  type DraftedTools,
  PLAN_THREAD_LIMITS,
  type TaskThread,
} from '../../../packages/server/src/context/tasks.js'
import { batchOf, mailConversation } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

/** The thread that reads packs, held up while a test wants it; one with little patience; and one without a second. */
const patient = createTaskThread(PLAN_THREAD_LIMITS)
const impatient = createTaskThread({ ...PLAN_THREAD_LIMITS, timeLimitMs: 500 })
const alone = createTaskThread({ ...PLAN_THREAD_LIMITS, second: null })
let thread = patient
let gate: Promise<void> = Promise.resolve()
let begun: string[] = []
const planThread: TaskThread = {
  run: async (tenantId, name, input, options) => {
    begun.push(name)
    await gate
    return thread.run(tenantId, name, input, options)
  },
  close: async () => {},
}
/** The thread that drafts contracts, which leaves a mark on what it writes. */
const background = createTaskThread()
const marking: TaskThread = {
  run: async (tenantId, name, input, options) => {
    const output = await background.run(tenantId, name, input, options)
    if (name !== 'draftTools') return output
    const { drafts, ...rest } = output as DraftedTools
    return { ...rest, drafts: drafts.map((draft) => ({ ...draft, text: `# marked\n${draft.text}` })) } as typeof output
  },
  close: async () => {},
}
afterAll(async () => {
  await background.close()
  await patient.close()
  await impatient.close()
  await alone.close()
})

const { runtime, api, owner } = await withOwnedRuntime({ parts: { planThread, thread: marking } })
const [{ parts }] = runtime.instances

// Its plan is known from here on.
await openSession(api)

const REFUND = { file: 'refund.yaml', text: 'tool: refund\nside_effect: financial\n' }
const pack = (files = [REFUND]) => ({ body: { agent: 'desk', environment: 'staging' as const, files } })

/** Does something that needs the thread, and shows that others do not wait for it. Returns what the thread was asked. */
async function beside<Answer>(work: () => Promise<Answer>): Promise<{ answer: Answer; asked: string[] }> {
  let open = () => {}
  gate = new Promise((done) => {
    open = done
  })
  begun = []
  const working = work()
  try {
    const other = await runtime.createTenant()
    const session = await openSession(runtime.api(other.key))
    await session.turn([LOOKUP])
    expectStatus(await session.api.killSession({ params: { session_id: session.sessionId }, body: {} }), 200)
    await expect.poll(() => begun.length).toBe(1)
  } finally {
    open()
  }
  return { answer: await working, asked: begun }
}

proves('limit.fair.packs', 'a pack is read and compared beside the turns and kills of others', async () => {
  const compared = await beside(() => api.diffPlan(pack()))
  expect(compared.asked).toEqual(['compilePack', 'comparePlans'])
  expect(compared.answer).toMatchObject({ status: 200, body: { running_hash: null } })
  const submitted = await beside(() => api.submitPlan(pack()))
  expect(submitted.asked).toEqual(['compilePack', 'compilePack', 'comparePlans'])
  const { plan_id } = expectStatus(submitted.answer, 201).body.plan
  const why = 'reviewed'
  const approved = await beside(() => owner.call('approvePlan', { params: { plan_id }, body: { why } }))
  expect([approved.answer.status, new Set(approved.asked)]).toEqual([200, new Set(['compilePack', 'comparePlans'])])
})

proves('limit.fair.packs', 'a pack is tried on a response beside the turns and kills of others', async () => {
  const body = { contracts: [REFUND], response: { tool_calls: [] } }
  const { answer, asked } = await beside(() => owner.call('judgePlayground', { body }))
  expect([answer.status, asked]).toEqual([200, ['judgePlayground']])
})

proves('limit.fair.packs', 'contracts are listed with their drift beside the turns and kills of others', async () => {
  expectStatus(await api.ingestCaptures(batchOf(mailConversation('desk', 'Ann'))), 200)
  while ((await learnCaptures(parts)) > 0) {
    // Until nothing is left.
  }
  const { answer, asked } = await beside(() => owner.call('listContracts', { query: { agent: 'desk' } }))
  expect([answer.status, asked]).toEqual([200, ['findDrift', 'describePack']])
})

proves('limit.fair.packs', 'learned contracts are written out in a thread, for a list and for a draft', async () => {
  const { contracts } = (await owner.call('listContracts', { query: { agent: 'desk' } })).body
  const learned = contracts.filter(({ source }) => source === 'inferred')
  expect(learned.length).toBeGreaterThan(0)
  for (const { yaml } of learned) expect(yaml).toMatch(/^# marked\n# Learned from/)
  const drafted = await owner.call('draftPlan', { body: { agent: 'desk', environment: 'staging' } })
  expect(drafted.status).toBe(201)
  const texts = drafted.body.files.map(({ text }) => text)
  expect(texts.filter((text) => text.startsWith('# marked'))).toHaveLength(learned.length)
})

/** As many files of 200 kB as a body may have: as YAML each takes about a second. */
const longFiles = Array.from({ length: 5 }, (_, file) => {
  const list = Array.from({ length: 65_000 }, (_, at) => at % 10).join(', ')
  return {
    file: `t${file}.yaml`,
    text: `{tool: t${file}, argument_value_invariants: [{path: $.a, one_of: [${list}]}]}`,
  }
})

test('a pack that takes too long to read is refused, and the next one is read', async () => {
  thread = impatient
  const refused = await api.diffPlan(pack(longFiles))
  thread = patient
  expect([refused.status, refused.problem.code]).toEqual([400, 'PLAN_INVALID'])
  expect(refused.problem.detail).toBe(
    'the plan could not be read or compared: it took longer than 0.5 seconds; write fewer or shorter files and rules',
  )
  expect((await api.diffPlan(pack())).status).toBe(200)
})

proves(
  'limit.fair.refused',
  'packs beyond those that may wait are refused, and one that was begun is not',
  async () => {
    thread = alone
    const other = alone.run('another tenant', 'compilePack', longFiles.slice(0, 3)).catch(() => {})
    const answers = await Promise.all(Array.from({ length: 14 }, () => api.submitPlan(pack())))
    await other
    // Eight may wait. What each of them needs next is not refused.
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(6)
    for (const { problem } of refused) expect(problem.detail).toContain('plans, drafts and comparisons of this tenant')
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(8)
  },
)
