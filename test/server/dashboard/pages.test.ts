import { ERRORS, ROUTES } from '@countersign/protocol'
import { collectDefaultMetrics } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { promtoolProblems, withoutPromtool } from '../../support/process/promtool.js'
import { proves } from '../../support/proves.js'
import { routeRequest, startRuntime, TEST_ORIGIN } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const TOKEN = 'a-token-of-an-operator'
const { runtime } = await withRuntime({ config: { COUNTERSIGN_METRICS_TOKEN: TOKEN } })
// As a service does at its start.
collectDefaultMetrics({ register: runtime.instances[0].parts.metrics.registry })

const get = (path: string) => runtime.fetch(`${TEST_ORIGIN}${path}`)

test('/healthz is alive, /readyz is ready, and not ready once the server drains', async () => {
  expect((await get('/healthz')).status).toBe(200)
  expect(await (await get('/readyz')).json()).toEqual({ status: 'ready' })
  const draining = await startRuntime({ parts: { isReady: () => false } })
  const answer = await draining.fetch(`${TEST_ORIGIN}/readyz`)
  await draining.close()
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { status: 'not_ready', reason: 'the server is shutting down' },
  ])
})

describe('/metrics', () => {
  const ask = (authorization: string) => runtime.fetch(`${TEST_ORIGIN}/metrics`, { headers: { authorization } })

  proves('metrics.token', 'is for the token of the operator, and off without one', async () => {
    for (const given of ['', TOKEN, `Bearer ${TOKEN}x`, `Bearer ${runtime.key}`, 'Bearer null'])
      expect((await ask(given)).status).toBe(401)
    const without = await startRuntime()
    const answer = await without.fetch(`${TEST_ORIGIN}/metrics`, { headers: { authorization: 'Bearer null' } })
    await without.close()
    expect([answer.status, (await answer.json()).detail]).toEqual([
      404,
      'metrics are off: set COUNTERSIGN_METRICS_TOKEN',
    ])
  })

  test('counts requests by route and status, and names no tenant, key or id', async () => {
    await runtime.fetch(routeRequest('loadSession', { key: runtime.key, params: { session_id: 'very-special-id' } }))
    const text = await (await ask(`Bearer ${TOKEN}`)).text()
    expect(text).toMatch(/countersign_requests_total\{route="loadSession",status="404"\} [1-9]/)
    expect(text).toMatch(/countersign_request_duration_seconds_bucket\{le="10",route="loadSession"\} [1-9]/)
    expect(text).toMatch(/countersign_pool_size \d+/)
    expect(text).toMatch(/countersign_ledger_height \d+/)
    expect(text).not.toMatch(new RegExp(`${runtime.tenantId}|${runtime.keyId}|very-special-id|csk_`))
  })

  test.skipIf(withoutPromtool !== '')(`reads well to promtool${withoutPromtool}`, async () => {
    expect(promtoolProblems(await (await ask(`Bearer ${TOKEN}`)).text())).toEqual([])
  })
})

test('/openapi.json is the document of every route', async () => {
  const document = await (await get('/openapi.json')).json()
  const operations = Object.values(document.paths as Record<string, Record<string, { operationId: string }>>)
    .flatMap((path) => Object.values(path))
    .map(({ operationId }) => operationId)
  expect(operations.sort()).toEqual(Object.keys(ROUTES).sort())
})

test('/docs is readable, names every route and error, and may load and run nothing', async () => {
  const response = await get('/docs')
  const page = await response.text()
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(response.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; frame-ancestors 'none'$/,
  )
  for (const name of Object.keys(ROUTES)) expect(page).toContain(`id="${name}"`)
  for (const code of Object.keys(ERRORS)) expect(page).toContain(code)
  for (const [, shape] of page.matchAll(/href="#(shape-\w+)"/g)) expect(page).toContain(`<h3 id="${shape}">`)
  expect(page).toContain('body: <code><a href="#shape-CreateSessionBody">CreateSessionBody</a></code>')
  expect(page).not.toMatch(/<script|onclick=|src=/)
})
