import type { JsonValue } from '@countersign/protocol'
import { afterAll, expect } from 'vitest'
import { TaskFailed } from '../../../packages/server/src/base/work/worker-thread.js'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { createTaskThread, type TaskThread } from '../../../packages/server/src/context/tasks.js'
import { batchOf, capturesOf, mailConversation } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

/** The thread for long work, held up or broken while a test wants it. */
const real = createTaskThread()
let before: (name: string) => Promise<void> | void = () => {}
const thread: TaskThread = {
  run: async (tenantId, name, input) => {
    await before(name)
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
  const other = await runtime.createTenant()
  const session = await openSession(runtime.api(other.key))
  await session.turn([LOOKUP])
  expectStatus(await session.api.killSession({ params: { session_id: session.sessionId }, body: {} }), 200)
  expect(begun).toEqual(['draftTools'])
  open()
  const { body } = await listing
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
