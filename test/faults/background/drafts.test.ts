import { setTimeout } from 'node:timers/promises'
import type { JsonValue } from '@countersign/protocol'
import { afterAll, expect, test } from 'vitest'
import { TaskFailed } from '../../../packages/server/src/base/work/worker-thread.js'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { createTaskThread, type TaskThread } from '../../../packages/server/src/context/tasks.js'
import { batchOf, capturesOf, mailConversation } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { Person } from '../../support/runtime/person.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

/** The thread for long work, held up or broken while a test wants it. */
const real = createTaskThread()
let before: (name: string, input: unknown, tenantId: string) => Promise<void> | void = () => {}
const thread: TaskThread = {
  run: async (tenantId, name, input) => {
    await before(name, input, tenantId)
    return real.run(tenantId, name, input)
  },
  close: () => real.close(),
}
afterAll(() => real.close())

const { runtime, api, owner } = await withOwnedRuntime({ parts: { thread } })
const [{ parts }] = runtime.instances

proves('background.drafts', async () => {
  expectStatus(await api.ingestCaptures(batchOf(mailConversation('mailer', 'Ann'))), 200)
  while ((await learnCaptures(parts)) > 0) {
    // Until nothing is left.
  }
  let open = () => {}
  const gate = new Promise<void>((done) => {
    open = done
  })
  const begun: string[] = []
  before = (name) => {
    begun.push(name)
    return gate
  }
  const listing = owner.call('listContracts', { query: { agent: 'mailer' } })
  await expect.poll(() => begun).toEqual(['draftTools'])
  const other = await runtime.createTenant()
  const session = await openSession(runtime.api(other.key))
  await session.turn([LOOKUP])
  expectStatus(await session.api.killSession({ params: { session_id: session.sessionId }, body: {} }), 200)
  open()
  const { body } = await listing
  expect(begun).toEqual(['draftTools'])
  expect(body.contracts.map(({ tool_name, samples, sessions }) => [tool_name, samples > 0, sessions])).toContainEqual([
    'send_mail',
    true,
    1,
  ])
  before = () => {
    throw new TaskFailed('draftTools', 'it took longer than 10 seconds')
  }
  const failed = await owner.call('listContracts', { query: { agent: 'mailer' } })
  before = () => {}
  expect(failed.status).toBe(503)
  expect(failed.text).toContain('try again later')
})

const learn = async (agent: string, by = api) => {
  expectStatus(await by.ingestCaptures(batchOf(mailConversation(agent, 'Ann'))), 200)
  while ((await learnCaptures(parts)) > 0) {
    // Until nothing is left.
  }
}
/** One file, beside what was learned. */
const pack = (agent: string) => {
  const files = [{ file: 'find.yaml', text: 'tool: find_person\nside_effect: read\n' }]
  return { body: { agent, environment: 'production' as const, files } }
}

proves('limit.fair.refused', 'what was learned is read for one list at a time, and few of a tenant wait', async () => {
  await learn('listed')
  let open = () => {}
  const gate = new Promise<void>((done) => {
    open = done
  })
  let begun = 0
  before = (name) => {
    if (name === 'draftTools') begun++
    return gate
  }
  const answers: number[] = []
  const lists = Array.from({ length: 12 }, async () => {
    answers.push((await owner.call('listContracts', { query: { agent: 'listed' } })).status)
  })
  try {
    await expect.poll(() => answers.length).toBe(7)
    expect(begun).toBe(1)
  } finally {
    before = () => {}
    open()
  }
  await Promise.all(lists)
  expect(answers).toEqual([...Array(7).fill(429), ...Array(5).fill(200)])
})

proves('limit.fair.lists', async () => {
  const [mine, large] = ['mine', 'large']
  const other = new Person(runtime.fetch)
  const { api_key, user } = (await other.signup()).body
  await runtime.sql`update tenants set verified_at = now() where tenant_id = ${user.tenant_id}`
  await runtime.sql`update users set email_verified_at = now() where tenant_id = ${user.tenant_id}`
  for (const agent of [mine, large]) await learn(agent)
  await learn('theirs', runtime.api(api_key))
  let open = () => {}
  const gate = new Promise<void>((done) => {
    open = done
  })
  const begun: string[] = []
  before = (name, _, tenantId) => {
    if (name !== 'draftTools') return
    begun.push(tenantId)
    return tenantId === user.tenant_id ? undefined : gate
  }
  const list = (agent: string) => owner.call('listContracts', { query: { agent } })
  const theirs = () => other.call('listContracts', { query: { agent: 'theirs' } })
  const held = list(mine)
  try {
    await expect.poll(() => begun).toHaveLength(1)
    expect((await theirs()).status).toBe(200)
    // More than a small one has, beside which no other large one is made.
    await runtime.sql`
      update learned_tools set summary = (summary::jsonb || jsonb_build_object('x', repeat('x', 600000)))::json
      where agent in (${large}, 'theirs')`
    const first = list(large)
    await expect.poll(() => begun).toHaveLength(3)
    const second = theirs()
    expect(await Promise.race([second, setTimeout(200)])).toBeUndefined()
    open()
    for (const answer of await Promise.all([held, first, second])) expect(answer?.status).toBe(200)
    expect(begun).toHaveLength(4)
  } finally {
    before = () => {}
    open()
  }
})

test('plans are compared with the tools that are known, and nothing is drafted for it', async () => {
  await learn('compared')
  const begun: string[] = []
  before = (name) => {
    begun.push(name)
  }
  const { body } = await api.diffPlan(pack('compared'))
  before = () => {}
  expect(begun).toEqual([])
  expect(body.blockers).toMatchObject([{ tool_name: 'send_mail', code: 'tool_without_contract' }])
  expect(body.advisories).toContainEqual(
    expect.objectContaining({
      tool_name: 'find_person',
      code: 'low_confidence',
      message: expect.stringMatching(/1 times/),
    }),
  )
})

test('of an agent of whose tools too much was learned as much is drafted as can be read, and the rest is said', async () => {
  await learn('heavy')
  // JSON may be followed by spaces.
  await runtime.sql`update learned_tools set summary = rpad(summary::text, 9000000)::json where agent = 'heavy'`
  let sent = 0
  before = (name, input) => {
    if (name === 'draftTools') sent = Math.max(sent, JSON.stringify(input).length)
  }
  const list = await owner.call('listContracts', { query: { agent: 'heavy' } })
  expect(list.body.contracts.map(({ tool_name }) => tool_name)).toEqual(['find_person'])
  expect(list.body.more).toBe(true)
  const { body } = await owner.call('draftPlan', { body: { agent: 'heavy', environment: 'production' } })
  before = () => {}
  expect(sent).toBeLessThan(16 * 1024 * 1024)
  expect(body.files.map(({ file }) => file)).not.toContain('send_mail.yaml')
  expect(body.blockers).toMatchObject([{ tool_name: 'send_mail', code: 'tool_without_contract' }])
})

proves('limit.pages.captures', async () => {
  const turns = Array.from({ length: 30 }, (_, at) => ({ name: 'note', args: { at, text: 'x'.repeat(100_000) } }))
  const captures = capturesOf('writer', 'hello', turns)
  expectStatus(await api.ingestCaptures({ body: { captures: captures as unknown as JsonValue[] } }), 200)
  const seen: string[] = []
  let cursor: string | undefined
  let pages = 0
  do {
    const { body } = await owner.call('listCaptures', {
      query: { agent: 'writer', limit: '20', ...(cursor !== undefined && { cursor }) },
    })
    expect(JSON.stringify(body).length).toBeLessThan(1_500_000)
    seen.push(...body.items.map(({ capture_id }) => capture_id))
    cursor = body.next ?? undefined
    pages++
  } while (cursor !== undefined)
  expect(pages).toBeGreaterThan(2)
  expect(seen).toEqual(captures.map(({ capture_id }) => capture_id).reverse())
})
