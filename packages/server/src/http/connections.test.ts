import { PassThrough } from 'node:stream'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createLog } from '../base/log.js'
import { createMetrics } from '../base/metrics.js'
import { createConnections } from './connections.js'

function admitting(most: { maxConnections: number; maxConnectionsPerAddress: number }) {
  const connections = createConnections({
    config: { ...most, trustedProxies: [] },
    log: createLog({ level: 'silent' }),
    metrics: createMetrics(),
  })
  return (remoteAddress: string) => {
    const socket = Object.assign(new PassThrough(), { remoteAddress, setTimeout: () => {} })
    return { socket, isServed: connections.admit(socket as never) }
  }
}

proves('limit.connections.networks', 'the addresses of a /64 count as one, those of two as two', () => {
  const admit = admitting({ maxConnections: 100, maxConnectionsPerAddress: 3 })
  const served = ['2001:db8::1', '2001:db8::2', '2001:DB8:0:0:f::3', '2001:db8::4', '2001:db8:0:1::1', '2001:db8::5']
  expect(served.map((address) => admit(address).isServed)).toEqual([true, true, true, false, true, false])
})

proves('limit.connections.networks', 'IPv4 is itself, also through an IPv6 socket', async () => {
  const admit = admitting({ maxConnections: 100, maxConnectionsPerAddress: 1 })
  const first = admit('::ffff:192.0.2.1')
  expect(first.isServed).toBe(true)
  expect(admit('192.0.2.1').isServed).toBe(false)
  expect(admit('::ffff:192.0.2.2').isServed).toBe(true)
  first.socket.destroy()
  await new Promise((done) => setImmediate(done))
  expect(admit('192.0.2.1').isServed).toBe(true)
})

proves('limit.connections.displaced', 'the networks of a /48 hold connections together', async () => {
  const admit = admitting({ maxConnections: 10, maxConnectionsPerAddress: 4 })
  const held = Array.from({ length: 10 }, (_, at) => admit(`2001:db8:7:${at}::1`))
  expect(admit('2001:db8:8::1').isServed).toBe(true)
  expect(admit('192.0.2.1').isServed).toBe(true)
  expect(held.map(({ socket }) => socket.destroyed)).toEqual([true, true, ...Array<boolean>(8).fill(false)])
})
