import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { echoHandlers } from '../../support/runtime/echo-handlers.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

let port: number
const { runtime } = await withRuntime({
  parts: {
    handlers: echoHandlers().handlers,
    checkReplies: false,
    timeouts: { headersTimeout: 2_000, requestTimeout: 2_000, connectionsCheckingInterval: 100 },
  },
})
beforeAll(async () => {
  port = Number(new URL(await runtime.instances[0].listen()).port)
})

/** One connection, byte by byte as the test says. */
function openLine() {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  let isClosed = false
  let look = () => {}
  const until = (seen: () => boolean) =>
    new Promise<string>((done) => {
      look = () => {
        if (seen()) done(received)
      }
      look()
    })
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    look()
  })
  socket.on('close', () => {
    isClosed = true
    look()
  })
  return {
    send: (text: string) => socket.write(text),
    /** Once all of these have come, in this order, everything that came. */
    answered: async (...statuses: number[]) => {
      const all = await until(() => isClosed || statusesIn(received).length >= statuses.length)
      expect(statusesIn(all)).toEqual(statuses)
      return all
    },
    closed: () => until(() => isClosed),
    close: () => socket.destroy(),
  }
}

const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
const head = (line: string, ...fields: string[]) =>
  `${line} HTTP/1.1\r\nhost: countersign\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`
const LABELS = '/api/v1/replay/sessions/s1/labels'
const json = 'content-type: application/json'
const keyed = () => `authorization: Bearer ${runtime.key}`

test('HEAD says what GET would, without the body', async () => {
  const line = openLine()
  line.send(head('HEAD /healthz') + head('GET /healthz'))
  const all = await line.answered(200, 200)
  expect(all.match(/content-length: 18/g)).toHaveLength(2)
  expect(all.match(/\{"status":"alive"\}/g)).toHaveLength(1)
  line.close()
})

test.each(['OPTIONS', 'DELETE', 'GET', 'TRACE'])(
  '%s where only POST is served is 405, to who has a key',
  async (method) => {
    const line = openLine()
    line.send(head(`${method} ${LABELS}`) + head(`${method} ${LABELS}`, keyed()))
    expect((await line.answered(401, 405)).match(/\r\nallow: POST\r\n/g)).toHaveLength(1)
    line.close()
  },
)

test('what is no path is refused; one after a host is served', async () => {
  const line = openLine()
  line.send(head('OPTIONS *') + head('GET /healthz\\') + head('GET /healthz#'))
  await line.answered(400, 400, 400)
  line.send(head('GET http://elsewhere/healthz'))
  await line.answered(400, 400, 400, 200)
  line.close()
})

test('requests that come at once are answered one after the other, each under an id of its own', async () => {
  const body = '{"label":"a"}'
  const post = head(`POST ${LABELS}`, keyed(), json, `content-length: ${body.length}`) + body
  const line = openLine()
  line.send(post + head('GET /healthz') + post)
  const ids = [...(await line.answered(200, 200, 200)).matchAll(/x-request-id: (req_\S+)/g)].map(([, id]) => id)
  expect(new Set(ids).size).toBe(3)
  line.close()
})

test('a connection is not remembered by the key that it used: each request is for the key that it brings', async () => {
  const unknown = `authorization: Bearer csk_${'A'.repeat(32)}`
  const line = openLine()
  const ask = (...fields: string[]) => line.send(head(`OPTIONS ${LABELS}`, ...fields))
  for (const fields of [[keyed()], [unknown], [keyed()]]) ask(...fields)
  await line.answered(405, 401, 405)
  for (const fields of [[], [keyed(), keyed()], [keyed()]]) ask(...fields)
  await line.answered(405, 401, 405, 401, 401, 405)
  line.close()
})

test('a refusal before the body keeps the connection when the body still comes', async () => {
  const line = openLine()
  line.send(head(`POST ${LABELS}`, json, 'content-length: 4'))
  await line.answered(401)
  line.send(`null${head('GET /healthz')}`)
  await line.answered(401, 200)
  line.close()
})

test('a refusal before the body ends the connection when the body does not come', async () => {
  const line = openLine()
  line.send(head(`POST ${LABELS}`, json, 'content-length: 4'))
  await line.answered(401)
  // Node says why it closes.
  expect(statusesIn(await line.closed())).toEqual([401, 408])
})

test('a body that nobody reads ends the connection after its answer', async () => {
  const line = openLine()
  line.send(`${head(`POST ${LABELS}`, keyed(), 'content-length: 4')}null`)
  expect(await line.answered(415)).toMatch(/\r\nconnection: close\r\n/)
  await line.closed()
})

test('a body in pieces is read whole', async () => {
  const line = openLine()
  for (const piece of [head(`POST ${LABELS}`, keyed(), json, 'content-length: 13'), '{"lab', 'el":"a', '"}']) {
    line.send(piece)
    await sleep(10)
  }
  await line.answered(200)
  line.close()
})

test('an address that cannot be read is refused with the headers of every reply', async () => {
  const line = openLine()
  line.send(head('GET /api/v1/runs/%zz'))
  const said = await line.answered(400)
  expect(said).toContain('x-content-type-options: nosniff')
  expect(said).toMatch(/x-request-id: req_/)
  line.close()
})
