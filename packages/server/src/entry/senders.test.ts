import type { IncomingMessage } from 'node:http'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { noteSender, senderOf } from './senders.js'

const ADDRESS = '192.0.2.7'

/** Requests as they come over one connection, of a proxy for example. */
function openConnection() {
  const socket = {}
  const request = (...rawHeaders: string[]) => ({ socket, rawHeaders }) as unknown as IncomingMessage
  return {
    request,
    prove: (incoming: IncomingMessage, tenantId: string) => noteSender({ http: { incoming } } as never, tenantId),
    senderOf: (incoming: IncomingMessage) => senderOf({ http: { incoming }, clientAddress: ADDRESS } as never),
  }
}

proves('limit.fair.shared-connections', 'the next request of the same tenant is known, by key or by cookie', () => {
  const { request, prove, senderOf } = openConnection()
  const byKey = () => request('Host', 'x', 'Authorization', 'Bearer csk_one')
  expect(senderOf(byKey())).toContain(ADDRESS.slice(0, 7))
  prove(byKey(), 'tnt_one')
  expect(senderOf(byKey())).toBe('tnt_one')
  const byCookie = () => request('Cookie', 'a=1')
  prove(byCookie(), 'tnt_two')
  expect(senderOf(byCookie())).toBe('tnt_two')
})

proves(
  'limit.fair.shared-connections',
  'that of anybody else on the connection waits in the line of its network',
  () => {
    const { request, prove, senderOf } = openConnection()
    prove(request('Authorization', 'Bearer csk_one'), 'tnt_one')
    for (const other of [request('Authorization', 'Bearer csk_two'), request('Cookie', 'a=1'), request()])
      expect(senderOf(other)).toContain(ADDRESS.slice(0, 7))
  },
)
