import { afterAll, beforeEach, expect } from 'vitest'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { createTaskThread, type TaskThread } from '../../../packages/server/src/context/tasks.js'
import { proves } from '../../support/proves.js'
import { expectStatus, openSession } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

/** The thread that learns and forgets, with something that is done before a task. */
const real = createTaskThread()
let before: (name: string) => Promise<void> | void = () => {}
const thread: TaskThread = {
  run: async (tenantId, name, input) => {
    await before(name)
    return real.run(tenantId, name, input)
  },
  warm: () => {},
  close: async () => {},
}
afterAll(() => real.close())
beforeEach(() => {
  before = () => {}
})

const { runtime, api, owner } = await withOwnedRuntime({ parts: { thread } })
const [{ parts }] = runtime.instances

const PLAN = planOf([{ tool: 'send', side_effect: 'read', arguments: { type: 'object' } }])

/** Sessions of one agent that were learned from, each with a value of its own and one that all of them have. */
async function learnedSessions(agent: string, names: readonly string[]) {
  const sessions = []
  for (const name of names) {
    const session = await openSession(api, { session_id: `${agent}-${name}`, agent, plan: PLAN })
    await session.turn([{ name: 'send', args: { to: name, kind: 'plain' } }])
    sessions.push(session)
  }
  await parts.captures.flush()
  await runtime.sql`update unlearned_captures set due_at = due_at - interval '1 hour'`
  while ((await learnCaptures(parts)) > 0) {
    // Until nothing is left.
  }
  return sessions
}

const learnedOf = async (agent: string): Promise<string> => {
  const [row] = await runtime.sql<{ summary: string }[]>`
    select summary::text as summary from learned_tools where agent = ${agent}`
  return row?.summary ?? ''
}

const erase = (session_id: string) => owner.call('eraseContent', { params: { session_id } })

proves('limit.fair.erasures', 'a session is killed at once while its erasure waits for the thread', async () => {
  const [session] = await learnedSessions('slow', ['jane', 'joe'])
  if (session === undefined) throw new Error('no session')
  let open = () => {}
  const gate = new Promise<void>((done) => {
    open = done
  })
  let asked = 0
  before = (name) => {
    if (name !== 'forgetBatch') return
    asked += 1
    return gate
  }
  const erased = erase(session.sessionId)
  await expect.poll(() => asked).toBe(1)
  expectStatus(await api.killSession({ params: { session_id: session.sessionId }, body: {} }), 200)
  open()
  expect((await erased).status).toBe(200)
  expect(await learnedOf('slow')).not.toMatch(/jane/)
  expect(await learnedOf('slow')).toMatch(/joe/)
})

proves('limit.fair.erasures', 'what changed while it was computed is computed again, and forgotten once', async () => {
  const [session] = await learnedSessions('changed', ['jane', 'joe', 'jim'])
  const computed: string[] = []
  before = async (name) => {
    if (name === 'forgetBatch' && computed.push(name) === 1)
      await runtime.sql`update learned_agents set claim_id = null where agent = 'changed'`
  }
  expect((await erase(session?.sessionId ?? '')).status).toBe(200)
  expect(computed).toHaveLength(2)
  const summary = await learnedOf('changed')
  expect(summary).not.toMatch(/jane/)
  expect(JSON.parse(summary).shape.fields.entries).toContainEqual([
    expect.anything(),
    expect.objectContaining({ shape: expect.objectContaining({ types: { string: 2 } }) }),
  ])
})

proves('limit.fair.erasures', 'several sessions of an agent are erased at once, each of them once', async () => {
  const sessions = await learnedSessions('many', ['jane', 'joe', 'jim', 'jill'])
  const answers = await Promise.all(sessions.slice(0, 3).map(({ sessionId }) => erase(sessionId)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  const summary = await learnedOf('many')
  expect(summary).not.toMatch(/jane|joe|jim/)
  expect(summary).toMatch(/jill/)
})
