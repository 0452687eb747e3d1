import { request } from 'node:http'
import { pathOf, ROUTES } from '@countersign/protocol'
import { beforeAll, expect } from 'vitest'
import { ReplayKillError } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

let url: string
const { agent, runtime } = await withAgentAndRuntime()
beforeAll(async () => {
  url = await runtime.instances[0].listen()
})

const governed = () =>
  agent.start({
    contracts: { tool: 'look', side_effect: 'read' },
    tools: { look: () => null },
    apiKey: runtime.key,
    runtimeUrl: url,
  })

proves('event.none-to-clients', 'a client hears of nothing that it did not ask for', async () => {
  const { session, ask, diagnostics } = governed()
  agent.provider.enqueue(says('hello'))
  await ask(['look'])
  const path = { session_id: session.sessionId }
  await runtime.api().addLabel({ params: path, body: { label: 'behind-its-back' } })
  await runtime.api().killSession({ params: path, body: {} })
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(session.getHealth()).toMatchObject({ status: 'healthy', killed: false })
  expect(diagnostics).toEqual([])
  await expect(ask(['look'])).rejects.toThrow(ReplayKillError)
  expect(session.getHealth().killed).toBe(true)
})

proves('event.none-to-clients', 'no connection can be turned into a channel', async () => {
  const headers = { authorization: `Bearer ${runtime.key}` }
  const { session, ask } = governed()
  agent.provider.enqueue(says('hello'))
  await ask(['look'])
  const path = pathOf(ROUTES.loadSession, { session_id: session.sessionId })
  const reply = await fetch(`${url}${path}`, { headers: { ...headers, accept: 'text/event-stream' } })
  expect(reply.headers.get('content-type')).toContain('application/json')
  expect(Object.keys(await reply.json())).toContain('session')

  const upgrade = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }
  for (const at of [path, '/', '/ws']) {
    const answered = await new Promise<string>((resolve, reject) => {
      const asking = request(`${url}${at}`, { headers: { ...headers, ...upgrade, 'sec-websocket-version': '13' } })
      asking.on('upgrade', (_response, socket) => {
        socket.destroy()
        resolve('a channel')
      })
      asking.on('response', (response) => {
        response.resume()
        resolve('an answer')
      })
      asking.on('error', reject)
      asking.end()
    })
    expect(answered, at).toBe('an answer')
  }
})

proves('event.none-to-clients', 'no program can ask to be called back', () => {
  const ofKeys = Object.values(ROUTES).filter(({ auth }) => auth === 'api_key')
  const words = JSON.stringify(ofKeys.map(({ path, summary }) => [path, summary])).toLowerCase()
  expect(words).not.toMatch(/webhook|callback|subscri|stream|notif/)
})
