import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { withGateways } from '../../support/gateway/gateway.js'
import { promtoolProblems, withoutPromtool } from '../../support/process/promtool.js'
import { proves } from '../../support/proves.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const TOKEN = 'a-token-of-an-operator'
const { runtime } = await withRuntime()
const gateways = await withGateways(runtime)
const agent = await gateways.agentWith([{ tool: 'look', side_effect: 'read' }])
const gateway = await gateways.start({}, { env: { COUNTERSIGN_METRICS_TOKEN: TOKEN } })

const get = async (path: string, { url } = gateway, authorization = `Bearer ${TOKEN}`) => {
  const response = await fetch(url + path, { headers: { authorization } })
  return { status: response.status, text: await response.text() }
}

proves('gateway.readiness', async () => {
  expect(await get('/healthz')).toEqual({ status: 200, text: '{"status":"alive"}' })
  expect(await get('/readyz')).toEqual({ status: 200, text: '{"status":"ready"}' })
  const away = await gateways.start({}, { fetch: () => Promise.reject(new Error('away')) })
  expect(await get('/readyz', away)).toMatchObject({ status: 503, text: expect.stringContaining('DOES NOT ANSWER') })
  const strange = await gateways.start({}, { key: `csk_${'x'.repeat(43)}` })
  expect(await get('/readyz', strange)).toMatchObject({ status: 503, text: expect.stringContaining('API KEY') })
  expect((await get('/healthz', away)).status).toBe(200)
})

describe('a request', () => {
  const asked = async () => {
    gateways.provider.enqueue({ text: 'Hello.', calls: [] })
    const client = new OpenAI({ apiKey: 'sk-s3cret', baseURL: gateway.openai(agent), maxRetries: 0 })
    await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
  }

  proves('gateway.log', async () => {
    await asked()
    const lines = gateway.log.map((line) => JSON.parse(line))
    expect(lines).toContainEqual({
      level: 'info',
      time: expect.stringMatching(/^20\d\d-.*Z$/),
      request_id: expect.stringMatching(/^req_/),
      method: 'POST',
      route: 'openai',
      agent,
      session_id: expect.any(String),
      status: 200,
      ms: expect.any(Number),
      msg: 'answered',
    })
  })

  proves(['metrics.token', 'metrics.from-zero'], 'of a gateway, too', async () => {
    for (const given of ['', TOKEN, `Bearer ${TOKEN}x`])
      expect((await get('/metrics', gateway, given)).status).toBe(401)
    expect((await get('/metrics', await gateways.start(), 'Bearer null')).status).toBe(404)
    await asked()
    const { text } = await get('/metrics')
    expect(text).toMatch(/^countersign_gateway_requests_total\{route="openai",status="200"\} [1-9]/m)
    expect(text).toMatch(/^countersign_gateway_request_duration_seconds_count\{route="openai"\} [1-9]/m)
    expect(text).toMatch(/^countersign_gateway_requests_total\{route="anthropic",status="503"\} 0$/m)
    expect(text).toMatch(/^countersign_gateway_diagnostics_total\{type="replay_degraded"\} 0$/m)
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m)
    expect(text).not.toMatch(/agent-|sk-s3cret|csk_/)
  })

  test.skipIf(withoutPromtool !== '')(
    `is counted on a page that reads well to promtool${withoutPromtool}`,
    async () => {
      expect(promtoolProblems((await get('/metrics')).text)).toEqual([])
    },
  )
})
