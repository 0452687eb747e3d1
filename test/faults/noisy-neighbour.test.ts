import { expect, test } from 'vitest'
import { LOOKUP, openSession } from '../support/runtime/governed-session.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()

test('fifty writers on one session of one tenant do not stop another tenant', async () => {
  const crowded = await openSession(runtime.api())
  const other = await runtime.createTenant()
  const quiet = await openSession(runtime.api(other.key))
  let running = true
  let writes = 0
  const writers = Array.from({ length: 50 }, async (_, index) => {
    for (let round = 0; running; round++) {
      const tools = round % 2 === 0 ? ['a', `w${index}`] : null
      const body = { fence: 1, tools }
      const { status } = await crowded.api.setToolFilter({ params: { session_id: crowded.sessionId }, body })
      expect([200, 503]).toContain(status)
      writes += 1
    }
  })
  const turns: number[] = []
  for (let turn = 0; turn < 10; turn++) {
    const startedAt = performance.now()
    expect(await quiet.turn([LOOKUP])).toMatchObject({ committed: true, state_version: turn + 1 })
    turns.push(performance.now() - startedAt)
  }
  running = false
  await Promise.all(writers)
  expect(writes).toBeGreaterThan(50)
  // Far from the two seconds after which a waiting writer gives up.
  expect(turns.toSorted((a, b) => a - b)[5]).toBeLessThan(2_000)
})

test('a session whose row is held gives up as BUSY, and others of the tenant go on', async () => {
  const held = await openSession(runtime.api())
  const free = await openSession(runtime.api())
  const params = { session_id: held.sessionId }
  await runtime.sql.begin(async (tx) => {
    await tx`select 1 from session_heads where session_id = ${held.sessionId} for update`
    const blocked = held.api.addLabel({ params, body: { label: 'a' } })
    expect(await free.turn([LOOKUP])).toMatchObject({ committed: true })
    const { status, problem } = await blocked
    expect([status, problem.code]).toEqual([503, 'BUSY'])
  })
  expect((await held.api.addLabel({ params, body: { label: 'a' } })).status).toBe(200)
})

test('a kill waits longer for a held row than other writes do', async () => {
  const held = await openSession(runtime.api())
  const params = { session_id: held.sessionId }
  let killed: ReturnType<typeof held.api.killSession> | undefined
  await runtime.sql.begin(async (tx) => {
    await tx`select 1 from session_heads where session_id = ${held.sessionId} for update`
    killed = held.api.killSession({ params, body: {} })
    await new Promise((done) => setTimeout(done, 2_500))
  })
  expect((await killed)?.body).toMatchObject({ status: 'KILLED' })
})
