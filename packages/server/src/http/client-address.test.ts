import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { clientAddressBehind } from './client-address.js'

const ROWS: readonly [string, string[], string | undefined, string | null, string][] = [
  ['no proxy is trusted: the header is ignored', [], '203.0.113.9', '1.2.3.4', '203.0.113.9'],
  ['the peer is no trusted proxy: the header is ignored', ['10.0.0.1'], '203.0.113.9', '1.2.3.4', '203.0.113.9'],
  ['a trusted proxy: the address it wrote', ['10.0.0.0/8'], '10.1.2.3', '203.0.113.9', '203.0.113.9'],
  ['a forged entry before the proxy\u2019s own', ['10.0.0.0/8'], '10.1.2.3', '1.2.3.4, 203.0.113.9', '203.0.113.9'],
  ['two proxies in a row', ['10.0.0.0/8'], '10.1.2.3', '203.0.113.9, 10.9.9.9', '203.0.113.9'],
  ['only proxies', ['10.0.0.0/8'], '10.1.2.3', '10.9.9.9', '10.9.9.9'],
  ['a header that is no address', ['10.0.0.0/8'], '10.1.2.3', 'unknown', '10.1.2.3'],
  ['no header', ['10.0.0.0/8'], '10.1.2.3', null, '10.1.2.3'],
  ['IPv4 inside IPv6', ['10.0.0.0/8'], '::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
  ['IPv6', ['fd00::/8'], 'fd00::1', '2001:db8::7', '2001:db8::7'],
  ['no socket', [], undefined, '1.2.3.4', ''],
  ['an empty header', ['10.0.0.0/8'], '10.1.2.3', '', '10.1.2.3'],
  ['a comma at the end', ['10.0.0.0/8'], '10.1.2.3', '203.0.113.9,', '10.1.2.3'],
  ['a comma at the beginning', ['10.0.0.0/8'], '10.1.2.3', ',10.9.9.9', '10.9.9.9'],
  ['sixteen proxies in a row', ['10.0.0.0/8'], '10.1.2.3', `203.0.113.9${', 10.9.9.9'.repeat(15)}`, '203.0.113.9'],
  ['more proxies than anybody has', ['10.0.0.0/8'], '10.1.2.3', `203.0.113.9${', 10.9.9.9'.repeat(16)}`, '10.9.9.9'],
]

const asked = (remoteAddress: string | undefined, forwardedFor: string | null) =>
  ({
    socket: { remoteAddress },
    rawHeaders: forwardedFor === null ? [] : ['X-Forwarded-For', forwardedFor],
  }) as unknown as IncomingMessage

test.each(ROWS)('%s', (_what, trusted, remote, forwarded, expected) => {
  expect(clientAddressBehind(trusted)(asked(remote, forwarded))).toBe(expected)
})

/** The time of this process alone, and the best of some rounds: other work must not fail the test. */
function costMs(work: () => unknown): number {
  const rounds = Array.from({ length: 5 }, () => {
    const { user, system } = process.cpuUsage()
    for (let time = 0; time < 100; time++) work()
    const since = process.cpuUsage()
    return (since.user - user + since.system - system) / 100_000
  })
  return Math.min(...rounds)
}

proves('limit.fair.forwarded', () => {
  const headers = [
    ','.repeat(16_000),
    `${'10.9.9.9, '.repeat(1_600)}203.0.113.9`,
    `10.9.9.9${', 10.9.9.9'.repeat(1_600)}`,
  ]
  for (const header of headers) {
    const request = asked('10.1.2.3', header)
    for (const addressOf of [clientAddressBehind([]), clientAddressBehind(['10.0.0.0/8'])])
      expect(
        costMs(() => addressOf(request)),
        header.slice(0, 20),
      ).toBeLessThan(0.2)
  }
})
