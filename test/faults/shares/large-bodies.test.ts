import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { hashValue, saltedHash } from '@countersign/engine'
import type { JsonValue, WorkflowDefinition } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { createTaskThread } from '../../../packages/server/src/context/tasks.js'
import { capturesOf } from '../../support/data/captures.js'
import { proves } from '../../support/proves.js'
import { expectStatus } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { PAYMENT_PLAN } from '../../support/runtime/workflow.js'

const { runtime, api } = await withRuntime()

const largeBatch = () => {
  const turns = Array.from({ length: 20 }, (_, at) => ({ name: 'note', args: { at, text: 'x'.repeat(100_000) } }))
  return { captures: capturesOf('desk', 'hello', turns) as unknown as JsonValue[] }
}

test('what is wrong with a large body is said as it is said of a small one', async () => {
  const [good, twin, ...others] = largeBatch().captures as { [key: string]: JsonValue }[]
  const bad = { ...others[0], capture_level: 'everything' } as JsonValue
  const small = { ...others[1], response: { tool_calls: [], content: null, finish_reason: 'stop' } } as JsonValue
  const rejectedOf = async (captures: readonly unknown[]) =>
    expectStatus(await api.ingestCaptures({ body: { captures: captures as JsonValue[] } }), 200).body.rejected
  const [large] = await rejectedOf([good, { ...twin, capture_id: good?.capture_id }, bad])
  const [alone] = await rejectedOf([small, { ...(small as object), capture_level: 'everything' }])
  expect(large).toMatchObject({ index: 2, code: 'INVALID_CAPTURE' })
  expect(alone?.message).toBe(large?.message)
  const wrong = await api.ingestCaptures({
    body: { captures: [good as JsonValue], more: 'x'.repeat(100_000) } as never,
  })
  expect(wrong.status).toBe(400)
  expect(wrong.problem?.detail).toContain('body')
})

proves('limit.fair.definitions', 'a long definition has the hash that it would have at once', async () => {
  const tools = Array.from({ length: 256 }, (_, at) => `tool_${at}`.padEnd(100, '_'))
  const names = Array.from({ length: 16 }, (_, at) => `role_${at}`)
  const roles = Object.fromEntries(names.map((name) => [name, { root: true, tools }]))
  const handoffs = names.flatMap((from) => names.map((to) => ({ from, to })))
  const create = (definition: WorkflowDefinition, session_id = 'first') => {
    const workflow = { workflow_id: 'long-definition', role: 'role_0', definition }
    return api.createSession({ body: { session_id, holder_id: 'holder-1', ...PAYMENT_PLAN, workflow } })
  }
  const definition = { roles, handoffs }
  const first = await create(definition)
  expect(first.status).toBe(201)
  expect((await create(definition)).body).toEqual(first.body)
  expect((await create(definition, 'second')).status).toBe(201)
  const other = { roles, handoffs: handoffs.slice(1) }
  expect((await create(other)).problem?.code).toBe('SESSION_EXISTS')
  expect((await create(other, 'third')).problem?.code).toBe('WORKFLOW_EXISTS')
  const wrong = { roles, handoffs: [...handoffs, { from: 'role_0', to: 'role_99' }] }
  expect((await create(wrong, 'third')).problem?.detail).toContain('handoffs.256.to: there is no role "role_99"')
  const [stored] = await runtime.sql`select definition_hash from workflows where workflow_id = 'long-definition'`
  expect(Object.values(stored ?? {})).toEqual([hashValue(definition)])
  const [session] = await runtime.sql<{ salt: string; hash: string; compiled: string }[]>`
    select hash_salt as salt, body_hash as hash, compiled_hash as compiled from sessions where session_id = 'first'`
  const workflow = { workflow_id: 'long-definition', role: 'role_0', definition }
  const hashed = {
    session_id: 'first',
    holder_id: 'holder-1',
    unmatched_policy: 'block',
    capture_level: 'redacted',
    workflow,
  }
  expect(session?.hash).toBe(saltedHash(session?.salt ?? '', { ...hashed, compiled_hash: session?.compiled ?? '' }))
})

/** The priorities of this process's threads, as Linux counts them: 0 is normal, more is less urgent. */
const threadPriorities = () =>
  readdirSync('/proc/self/task').map((thread) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
    // After the name, which may hold spaces and brackets.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })

proves(
  'limit.fair.threads',
  async () => {
    const thread = createTaskThread()
    const before = threadPriorities().filter((priority) => priority >= 10).length
    await thread.run('tenant', 'learnedTools', { summaries: [] } as never).catch(() => {})
    expect(threadPriorities().filter((priority) => priority >= 10)).toHaveLength(before + 1)
    await thread.close()
  },
  { skip: process.platform !== 'linux' || getPriority() >= 10 },
)
