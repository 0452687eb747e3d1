import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { throughRuntime, withGateways } from '../../support/gateway/gateway.js'
import { proves } from '../../support/proves.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()
const gateways = await withGateways(runtime)
const agent = await gateways.agentWith([{ tool: 'look', side_effect: 'read' }])
const through = throughRuntime(runtime)

let goOn = (): void => {}
const released = new Promise<void>((done) => {
  goOn = done
})

/** Who reached the upstream, in order. */
let reached: (string | null)[] = []
const answer = { choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }] }
const gateway = await gateways.start(
  {},
  {
    fetch: async (input, init) => {
      if (String(input).includes('/api/v1/')) return through(input, init)
      const client = new Headers(init?.headers).get('authorization')
      reached.push(client)
      if (client === 'slow') await released
      return Response.json(answer)
    },
  },
)

const post = (client: string, extra: string, at = gateway) =>
  fetch(`${at.openai(agent)}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: client },
    body: `{"model":"m","messages":[{"role":"user","content":"go"}],"x":${extra}}`,
  })
/** What brings no calls passes without a turn. */
const embed = (client: string) =>
  fetch(`${gateway.openai(agent)}/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: client },
    body: '{"model":"m","input":"x"}',
  })
const told = async (reply: Response) => {
  const { error } = (await reply.json()) as { error?: { code: string; message: string } }
  return [reply.status, error?.code, error?.message]
}
const list = (items: number) => `[${Array.from({ length: items }, () => 1)}]`
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const named = (names: number) => `{${Array.from({ length: names }, (_, at) => `"n${at}":1`)}}`

proves('gateway.fair.values', async () => {
  reached = []
  const values = await told(await post('a', list(200_000)))
  expect(values).toEqual([413, 'countersign_body_values', expect.stringContaining('more than 200000 values')])
  const names = await told(await post('a', named(20_000)))
  expect(names).toEqual([413, 'countersign_body_values', expect.stringContaining('20000 different names')])
  const levels = await told(await post('a', deep(64)))
  expect(levels).toEqual([400, 'countersign_body_depth', expect.stringContaining('more than 64 levels')])
  expect(reached).toEqual([])
  // With the values, names and levels around them.
  for (const most of [list(199_990), named(19_990), deep(63)]) expect((await post('a', most)).status).toBe(200)
})

proves(
  'gateway.limits',
  'one request too many is told to come back, and comes in once another is answered',
  async () => {
    reached = []
    const many = Array.from({ length: 256 }, () => embed('slow'))
    await expect.poll(() => reached.length).toBe(256)
    const refused = await embed('b')
    expect([refused.headers.get('retry-after'), refused.headers.get('x-should-retry')]).toEqual(['1', 'true'])
    expect((await told(refused)).slice(0, 2)).toEqual([503, 'countersign_busy'])
    goOn()
    for (const reply of await Promise.all(many)) {
      expect(reply.status).toBe(200)
      await reply.text()
    }
    await expect.poll(async () => (await embed('b')).status).toBe(200)
  },
)

proves('gateway.fair.connections', async () => {
  const narrow = await gateways.start({ 'max-connections': '2' })
  const { port } = new URL(narrow.url)
  const sockets: Socket[] = []
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()))
  const open = async () => {
    const socket = connect({ port: Number(port), host: '127.0.0.1' })
    sockets.push(socket)
    await once(socket, 'connect')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    return { socket, text: () => text }
  }
  const first = await open()
  await open()
  const third = await open()
  await once(third.socket, 'close', { signal: AbortSignal.timeout(10_000) })
  expect(third.text()).toMatch(
    /^HTTP\/1\.1 503 [\s\S]*retry-after: 1[\s\S]*countersign_busy[\s\S]*--max-connections\)/i,
  )
  first.socket.destroy()
  await once(first.socket, 'close')
  await expect
    .poll(async () => {
      const { socket, text } = await open()
      socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      await once(socket, 'close')
      return text()
    })
    .toMatch(/^HTTP\/1\.1 200 /)
})
