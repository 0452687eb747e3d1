import type { Contract } from '@countersign/protocol'
import OpenAI from 'openai'
import { afterAll, expect } from 'vitest'
import { withGateways } from '../../support/gateway/gateway.js'
import { proves } from '../../support/proves.js'
import { calls, says } from '../../support/runtime/agent.js'
import { listIssuer, startIssuer } from '../../support/runtime/issuer.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime({ config: { COUNTERSIGN_ALLOW_LOCAL_ISSUERS: 'on' } })
const gateways = await withGateways(runtime)
const { provider } = gateways
const gateway = await gateways.start()
const other = await gateways.start()
const issuer = await startIssuer()
await listIssuer(runtime.sql, runtime.tenantId, issuer)
afterAll(() => issuer.close())

const contracts: readonly Contract[] = [{ tool: 'look', side_effect: 'read', principal: 'proven' }]
const agent = await gateways.agentWith(contracts)
const HEADER = 'x-countersign-principal-token'
const chat = {
  model: 'gpt-4o',
  messages: [{ role: 'user' as const, content: 'go' }],
  tools: [{ type: 'function' as const, function: { name: 'look', parameters: {} } }],
}

async function ask(
  token: string | null,
  { session, through = gateway }: { session?: string; through?: typeof gateway } = {},
) {
  const client = new OpenAI({ apiKey: 'sk-s3cret', baseURL: through.openai(agent), maxRetries: 0 })
  const headers = {
    ...(token !== null && { [HEADER]: token }),
    ...(session !== undefined && { 'x-countersign-session': session }),
  }
  const { data, response } = await client.chat.completions.create(chat, { headers }).withResponse()
  return {
    calls: data.choices[0]?.message.tool_calls ?? [],
    session: response.headers.get('x-countersign-session') ?? '',
  }
}

proves(
  'gateway.principal-token',
  'the token of a request proves for whom its session acts, through every gateway',
  async () => {
    provider.enqueue(calls(['look']), says('hello'), says('hello'))
    const first = await ask(await issuer.token())
    expect(first.calls).toHaveLength(1)
    const { body } = await api.loadSession({ params: { session_id: first.session } })
    expect(body.session.principal_proof).toBe('proven')
    expect(JSON.stringify(provider.requests)).not.toContain(HEADER)
    // Later requests, with the next token of the same person or none, and through another process.
    expect((await ask(await issuer.token(), first)).session).toBe(first.session)
    expect((await ask(await issuer.token(), { ...first, through: other })).session).toBe(first.session)
  },
)

proves('gateway.principal-token', 'a token for somebody else, a wrong one and none are refused', async () => {
  provider.enqueue(calls(['look']))
  const { session } = await ask(await issuer.token())
  const bob = await issuer.token({ sub: 'bob' })
  await expect(ask(bob, { session })).rejects.toMatchObject({
    status: 403,
    message: expect.stringContaining('another principal'),
  })
  await expect(ask(bob, { session, through: other })).rejects.toThrow('another agent or principal')
  await expect(ask(await issuer.token({ aud: 'x' }))).rejects.toThrow('its audience (aud)')
  await expect(ask(null)).rejects.toThrow('the plan wants a proven principal')
  await expect(ask('x'.repeat(8_193))).rejects.toMatchObject({ status: 400 })
  // Only the first request reached the upstream.
  expect(provider.requests).toHaveLength(4)
})
