import { expect, test } from 'vitest'
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
]

test.each(ROWS)('%s', (_what, trusted, remote, forwarded, expected) => {
  expect(clientAddressBehind(trusted)(remote, forwarded)).toBe(expected)
})
