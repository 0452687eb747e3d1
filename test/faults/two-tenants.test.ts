import { randomUUID } from 'node:crypto'
import { ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { beforeAll, describe, expect, test } from 'vitest'
import { handlers } from '../../packages/server/src/http/handlers.js'
import { type GovernedSession, LOOKUP, openSession, receiptFor } from '../support/runtime/governed-session.js'
import { routeRequest, type TestTenant } from '../support/runtime/runtime.js'
import { VALID_BODIES } from '../support/runtime/valid-bodies.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

let stranger: TestTenant
let owned: GovernedSession
let pendingCallId: string
let preparedRequestId: string
const { runtime } = await withRuntime()
beforeAll(async () => {
  stranger = await runtime.createTenant()
  const api = runtime.api()
  owned = await openSession(api)
  const { decisions } = await owned.decide([LOOKUP])
  pendingCallId = decisions[0]!.pending_call_id!
  preparedRequestId = randomUUID()
  await owned.preflight({ prepared_request_id: preparedRequestId, tools: [] })
})

/** Every route under /api/v1/ that names something in its path. New ones are covered by being in the table. */
const namingRoutes = (Object.entries(ROUTES) as [RouteName, Route][]).filter(
  ([name, route]) => route.auth === 'api_key' && route.params !== undefined && name in handlers,
)

async function answerTo(name: RouteName, key: string, params: Record<string, string>, body: unknown) {
  const response = await runtime.fetch(
    routeRequest(name, { key, params, ...(body === undefined ? {} : { body }) } as never),
  )
  return { status: response.status, body: await response.text() }
}

describe("another tenant's ids in the path", () => {
  test.each(namingRoutes.map(([name, route]) => [name, route] as const))(
    '%s: 404, equal to an unknown id',
    async (name, route) => {
      const names = Object.keys(route.params?.shape ?? {})
      const body = VALID_BODIES[name]
      if (route.body !== undefined) expect(body, `add a valid body for ${name}`).toBeDefined()
      for (const param of names) {
        const real = param === 'session_id' ? owned.sessionId : 'of-the-other'
        const fill = (id: string) => ({ ...Object.fromEntries(names.map((one) => [one, 'unknown-id'])), [param]: id })
        const foreign = await answerTo(name, stranger.key, fill(real), body)
        const unknown = await answerTo(name, stranger.key, fill('no-such-thing'), body)
        expect(foreign).toEqual(unknown)
        expect(foreign.status).toBe(404)
      }
    },
  )

  test('and nothing of it was changed', async () => {
    const view = await owned.load()
    expect(view.session).toMatchObject({ status: 'ACTIVE', labels: [], control_revision: 0, fence: 1 })
    expect(view.pending).toHaveLength(1)
  })
})

describe("another tenant's ids in the body", () => {
  test('a prepared request', async () => {
    const mine = await openSession(runtime.api(stranger.key))
    const [foreign, unknown] = [await mine.propose(preparedRequestId, []), await mine.propose('no-such-request', [])]
    expect([foreign.status, foreign.problem]).toEqual([404, unknown.problem])
  })

  test('a pending call', async () => {
    const mine = await openSession(runtime.api(stranger.key))
    const { decisions } = await mine.decide([LOOKUP])
    const receipt = (id: string) => receiptFor({ ...decisions[0]!, pending_call_id: id })
    const [foreign, unknown] = [
      await mine.receipts([receipt(pendingCallId)]),
      await mine.receipts([receipt('no-such-call')]),
    ]
    expect([foreign.status, foreign.problem]).toEqual([404, unknown.problem])
  })

  test('a session id that the other tenant uses is free here, and the two never meet', async () => {
    const mine = await openSession(runtime.api(stranger.key), { session_id: owned.sessionId, labels: ['mine'] })
    await mine.turn([LOOKUP])
    expect((await owned.load()).session).toMatchObject({ labels: [], state_version: 0 })
    expect((await mine.load()).session).toMatchObject({ labels: ['mine'], state_version: 1 })
  })
})
