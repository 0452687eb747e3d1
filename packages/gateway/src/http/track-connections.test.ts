import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { trackConnections } from './track-connections.js'

proves('gateway.stops', 'a reply in flight is sent whole, and no open connection outlives it', async () => {
  const requests = new EventEmitter()
  const server = createServer((message, reply) => requests.emit(message.url ?? '', reply))
  const endUnused = trackConnections(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const dial = async (sent: string) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    let got = ''
    socket.on('data', (chunk) => {
      got += chunk
    })
    await once(socket, 'connect')
    socket.write(sent)
    return once(socket, 'close').then(() => got)
  }
  const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
  const asked = once(requests, '/slow')
  const ended = Promise.all([dial(''), dial(ask('/slow'))])
  const [reply] = await asked
  const closed = new Promise<void>((done) => server.close(() => done()))
  endUnused()
  reply.end('x'.repeat(1_000_000))
  const [unused = '', slow = ''] = await ended
  await closed
  expect([unused, slow.length > 1_000_000]).toEqual(['', true])
})
