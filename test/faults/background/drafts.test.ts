import type { JsonValue } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { batchOf, capturesOf, mailConversation } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { expectStatus } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api, owner } = await withOwnedRuntime()
const [{ parts }] = runtime.instances

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

test('plans are compared with the tools that are known', async () => {
  await learn('compared')
  const { body } = await api.diffPlan(pack('compared'))
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
  const list = await owner.call('listContracts', { query: { agent: 'heavy' } })
  expect(list.body.contracts.map(({ tool_name }) => tool_name)).toEqual(['find_person'])
  expect(list.body.more).toBe(true)
  const { body } = await owner.call('draftPlan', { body: { agent: 'heavy', environment: 'production' } })
  expect(body.files.map(({ file }) => file)).not.toContain('send_mail.yaml')
  expect(body.blockers).toMatchObject([{ tool_name: 'send_mail', code: 'tool_without_contract' }])
})

proves('limit.pages.captures', async () => {
  const turns = Array.from({ length: 30 }, (_, at) => ({ name: 'note', args: { at, text: 'x'.repeat(100_000) } }))
  const captures = capturesOf('writer', 'hello', turns)
  for (let from = 0; from < 30; from += 9)
    expectStatus(
      await api.ingestCaptures({ body: { captures: captures.slice(from, from + 9) as unknown as JsonValue[] } }),
      200,
    )
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
