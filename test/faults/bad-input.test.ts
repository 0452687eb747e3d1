import { LIMITS, ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { beforeAll, describe, expect, test } from 'vitest'
import { handlers } from '../../packages/server/src/http/handlers.js'
import { type GovernedSession, openSession } from '../support/runtime/governed-session.js'
import { routeRequest } from '../support/runtime/runtime.js'
import { VALID_BODIES } from '../support/runtime/valid-bodies.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

let session: GovernedSession
const { runtime } = await withRuntime()
beforeAll(async () => {
  session = await openSession(runtime.api())
})

/** Every route for API keys that needs a body. New ones are covered by being in the table. */
const routes = (Object.entries(ROUTES) as [RouteName, Route][]).filter(
  ([name, route]) => route.auth === 'api_key' && route.body !== undefined && !route.lenientBody && name in handlers,
)

async function send(name: RouteName, rawBody: string, headers: Record<string, string> = {}) {
  const params = { session_id: session.sessionId, workflow_id: 'wf', handoff_id: 'ho' }
  const response = await runtime.fetch(routeRequest(name, { key: runtime.key, params, rawBody, headers }))
  const text = await response.text()
  return { status: response.status, text, code: JSON.parse(text).code as string | undefined }
}

const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
const withField = (body: object, field: string, value: string) =>
  `${JSON.stringify(body).slice(0, -1)}${Object.keys(body).length === 0 ? '' : ','}${JSON.stringify(field)}:${value}}`

/** What is wrong with a body, and what must come back. Each row is tried on every route. */
const FAULTS: Record<string, { make: (body: object, route: Route) => string; status: number }> = {
  'is empty': { make: () => '', status: 400 },
  'is no JSON': { make: () => '{"a":', status: 400 },
  'is an array': { make: () => '[]', status: 400 },
  'is null': { make: () => 'null', status: 400 },
  'has a field that the route does not know': { make: (body) => withField(body, 'surprise', '1'), status: 400 },
  'sets the tenant': { make: (body) => withField(body, 'tenant_id', '"other"'), status: 400 },
  'sets the status': { make: (body) => withField(body, 'status', '"ACTIVE"'), status: 400 },
  'sets killed': { make: (body) => withField(body, 'killed', 'false'), status: 400 },
  'sets the plan': { make: (body) => withField(body, 'plan', '{}'), status: 400 },
  'has the key __proto__': { make: (body) => withField(body, '__proto__', '{"killed":false}'), status: 400 },
  'has the key constructor': { make: (body) => withField(body, 'constructor', '{}'), status: 400 },
  'has a key twice': {
    make: (body) => {
      const [first = 'surprise'] = Object.keys(body)
      return withField(body, first, JSON.stringify((body as Record<string, unknown>)[first] ?? 1))
    },
    status: 400,
  },
  'nests 65 deep': { make: (body) => withField(body, 'surprise', nested(65)), status: 400 },
  'nests 5,000 deep': { make: (body) => withField(body, 'surprise', nested(5_000)), status: 400 },
  'holds half a surrogate pair': { make: (body) => withField(body, 'surprise', '"\\ud800"'), status: 400 },
  'holds the character NUL': { make: (body) => withField(body, 'surprise', '"\\u0000"'), status: 400 },
  'holds 1e400': { make: (body) => withField(body, 'surprise', '1e400'), status: 400 },
  'holds an integer beyond 2^53': { make: (body) => withField(body, 'surprise', '9007199254740993'), status: 400 },
  'is larger than its limit': {
    make: (body) => withField(body, 'surprise', JSON.stringify('x'.repeat(LIMITS.bodyBytes))),
    status: 413,
  },
}

describe.each(Object.entries(FAULTS))('a body that %s', (_name, { make, status }) => {
  test.each(routes)(`of %s: ${status}`, async (name, route) => {
    const body = VALID_BODIES[name]
    expect(body, `add a valid body for ${name}`).toBeDefined()
    const answer = await send(name, make(body as object, route))
    expect(answer.status).toBe(status)
    expect(answer.text).not.toMatch(/\bat \w+ \(|node_modules|select |insert |postgres/i)
  })
})

describe.each(routes)('%s', (name, route) => {
  const body = VALID_BODIES[name] as Record<string, unknown>
  const WRONG = [null, true, -1, 1.5, '', 'x'.repeat(5_000), 'a b\n', [], ['x'], {}, { a: 1 }]

  test.each(Object.keys(body ?? {}))('takes no nonsense as %s', async (field) => {
    for (const value of WRONG) {
      const { status, text } = await send(name, JSON.stringify({ ...body, [field]: value }))
      // What the shape allows is then judged; nothing may fail on our side.
      expect([field, value, status, text.slice(0, 200)]).toEqual([field, value, expect.any(Number), expect.any(String)])
      expect(status).toBeLessThan(500)
    }
  })

  test.each(Object.keys(body ?? {}))('says by path that %s has the wrong type', async (field) => {
    const symbol = { not: ['what', 'anybody', 'expects'] }
    const { status, text } = await send(name, JSON.stringify({ ...body, [field]: symbol }))
    if (status === 400 && field !== 'response' && field !== 'principal') expect(text).toContain(`body.${field}`)
    expect(status).toBeLessThan(500)
  })

  test.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/jsonx', 415],
    ['', 415],
  ])('as %j is %i', async (type, expected) => {
    expect((await send(name, JSON.stringify(body), { 'content-type': type })).status).toBe(expected)
  })

  if (route.params?.shape && 'session_id' in route.params.shape) {
    test.each(['%00', '..%2f..', 'a%20b', 'x'.repeat(129), '%F0%9F%92%A9', "'; drop table sessions; --"])(
      'with the session id %j: 400 or 404',
      async (id) => {
        const url = `http://127.0.0.1:4319${route.path.replace(':session_id', id)}`
        const headers = { authorization: `Bearer ${runtime.key}`, 'content-type': 'application/json' }
        const response = await runtime.fetch(new Request(url, { method: 'POST', headers, body: JSON.stringify(body) }))
        expect([400, 404]).toContain(response.status)
      },
    )
  }
})

test('after all this the session is what it was', async () => {
  const { session: view, pending } = await session.load()
  expect(view).toMatchObject({ state_version: 0, mode: 'AUTHORITATIVE' })
  expect(pending).toEqual([])
})
