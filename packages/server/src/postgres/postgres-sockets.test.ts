import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPostgresSockets, type PostgresAddress } from './postgres-sockets.js'

/** Says a word to whoever connects, unless it drops them; `far` are its ends of the connections, in order. */
let isDropping: boolean
let far: Socket[]
let at: PostgresAddress
const server = createServer((socket) => {
  far.push(socket.on('error', () => {}))
  if (isDropping) socket.end()
  else socket.write('x')
})
beforeEach(async () => {
  isDropping = false
  far = []
  await once(server.listen(0, '127.0.0.1'), 'listening')
  at = { host: ['127.0.0.1'], port: [(server.address() as AddressInfo).port], path: false }
})
afterEach(async () => {
  const closed = new Promise((done) => server.close(done))
  for (const socket of far) socket.destroy()
  await closed
})

/** Reads on, as the driver does. Resolves to the code of the error that ended it, or null. */
const ended = (socket: Socket) =>
  new Promise<string | null>((done) => {
    let code: string | null = null
    socket.on('error', (error: NodeJS.ErrnoException) => {
      code = error.code ?? ''
    })
    socket.once('close', () => done(code)).resume()
  })

/** Writes at once, as the driver does. */
async function heardOn(socket: Socket): Promise<Socket> {
  socket.write('?')
  await once(socket, 'data')
  return socket
}

test('it is heard while a connection stands on which it spoke, and not before or after', async () => {
  const sockets = createPostgresSockets()
  expect(sockets.isHeard()).toBe(false)
  const socket = sockets.open(at)
  expect(sockets.isHeard()).toBe(false)
  await heardOn(socket)
  expect(sockets.isHeard()).toBe(true)
  // The driver takes all listeners off before TLS.
  socket.removeAllListeners()
  socket.destroy()
  expect(sockets.isHeard()).toBe(false)
})

test('a connection that is dropped unheard is an error, and a failure when no other stands', async () => {
  const sockets = createPostgresSockets()
  const failures: number[] = []
  const forget = sockets.onFailure((triedAtMs) => failures.push(triedAtMs))
  const other = await heardOn(sockets.open(at))
  isDropping = true
  expect(await ended(sockets.open(at))).toBe('CONNECTION_CLOSED')
  expect(failures).toEqual([])
  other.removeAllListeners()
  other.destroy()
  const afterMs = performance.now()
  expect(await ended(sockets.open(at))).toBe('CONNECTION_CLOSED')
  expect(failures).toEqual([expect.any(Number)])
  expect(failures[0]).toBeGreaterThanOrEqual(afterMs)
  forget()
  await ended(sockets.open(at))
  expect(failures).toHaveLength(1)
})

test('connections that stay silent are broken; those that speak, and those made since, are not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const sockets = createPostgresSockets()
  const silent = await heardOn(sockets.open(at))
  const speaking = await heardOn(sockets.open(at))
  sockets.breakSilent(100)
  const fresh = await heardOn(sockets.open(at))
  const broken = ended(silent)
  far[1]?.write('y')
  await once(speaking, 'data')
  vi.advanceTimersByTime(100)
  expect(await broken).toBe('CONNECTION_CLOSED')
  expect([speaking.destroyed, fresh.destroyed]).toEqual([false, false])
  for (const socket of [speaking, fresh]) socket.destroy()
  vi.useRealTimers()
})

test('a connection on which nothing is sent is broken, so that the next is tried', async () => {
  expect(await ended(createPostgresSockets().open(at))).toBe('CONNECTION_CLOSED')
})

test('several hosts take turns', async () => {
  const sockets = createPostgresSockets()
  const [port = 0] = at.port
  const hosts: PostgresAddress = { host: ['127.0.0.1', '127.0.0.1'], port: [1, port], path: false }
  expect(await ended(sockets.open(hosts))).toBe('ECONNREFUSED')
  const second = await heardOn(sockets.open(hosts))
  second.destroy()
})
