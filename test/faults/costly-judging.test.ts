import { expect } from 'vitest'
import { JUDGING_SHAPES } from '../support/hostile/judging-shapes.js'
import { proves } from '../support/proves.js'
import { openSession } from '../support/runtime/governed-session.js'
import { planOf } from '../support/runtime/plans.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime } = await withRuntime({ isolate: 'threads' })

for (const shape of JUDGING_SHAPES) {
  proves('limit.judging.other-tenants', shape.name, async () => {
    const hostile = await openSession(runtime.api(), { plan: planOf([...shape.contracts]) })
    const other = await runtime.createTenant()
    const quiet = await openSession(runtime.api(other.key))
    const prepared = await hostile.preflight({ tools: [{ name: 'act' }] })
    const calls = shape.calls.map((args, at) => ({ name: 'act', args, id: `c${at}` }))
    const startedAt = performance.now()
    const judged = hostile.propose(prepared.body.outcome === 'prepared' ? prepared.body.prepared_request_id : '', calls)
    const killed = await quiet.api.killSession({ params: { session_id: quiet.sessionId }, body: {} })
    expect(killed.body).toMatchObject({ status: 'KILLED' })
    // Generous: the machine may be busy with other tests.
    expect(performance.now() - startedAt).toBeLessThan(10_000)
    // On a slow machine its time ends while it is judged, or while it is written.
    expect([200, 422, 503]).toContain((await judged).status)
  })
}

proves('limit.judging.other-tenants', 'many costly requests at once', async () => {
  const terms = Array.from({ length: 40 }, (_, at) => `context.arguments.a == "${at}"`).join(' || ')
  const policy = { cedar: `permit(principal, action, resource) unless { ${terms} };` }
  const names = Array.from({ length: 100 }, (_, at) => `t${at}`)
  const plan = planOf(names.map((tool) => ({ tool, side_effect: 'read', gate: 'allow', policy })))
  const hostile = await Promise.all(
    Array.from({ length: 10 }, () => openSession(runtime.api(), { plan, principal: 'p' })),
  )
  const other = await runtime.createTenant()
  const quiet = await openSession(runtime.api(other.key))
  let answered = 0
  const asked = hostile.map(async (session) => {
    const { status } = await session.preflight({ tools: names.map((name) => ({ name })) })
    answered++
    return status
  })
  const killed = await quiet.api.killSession({ params: { session_id: quiet.sessionId }, body: {} })
  expect(killed.body).toMatchObject({ status: 'KILLED' })
  // It goes in between: it does not wait for all of them.
  expect(answered).toBeLessThan(5)
  expect(await Promise.all(asked)).toEqual(hostile.map(() => 200))
})
