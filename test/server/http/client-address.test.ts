import { ROUTES } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const seen: string[] = []
const handlers = {
  login: async (ctx: { request: { clientAddress: string } }) => {
    seen.push(ctx.request.clientAddress)
    return {}
  },
}
const parts = { handlers, checkReplies: false } as never
const { runtime: open } = await withRuntime({ parts })
const { runtime: behind } = await withRuntime({
  parts,
  config: { COUNTERSIGN_TRUSTED_PROXIES: '10.0.0.0/8,fd00::/8' },
})

type Row = readonly [what: string, runtime: typeof open, remote: string, forwarded: string | null, address: string]
const ROWS: readonly Row[] = [
  ['no proxy is trusted: the header is ignored', open, '203.0.113.9', '1.2.3.4', '203.0.113.9'],
  ['the peer is no trusted proxy: the header is ignored', behind, '203.0.113.9', '1.2.3.4', '203.0.113.9'],
  ['a trusted proxy: the address it wrote', behind, '10.1.2.3', '203.0.113.9', '203.0.113.9'],
  ['a forged entry before the proxy\u2019s own', behind, '10.1.2.3', '1.2.3.4, 203.0.113.9', '203.0.113.9'],
  ['two proxies in a row', behind, '10.1.2.3', '203.0.113.9, 10.9.9.9', '203.0.113.9'],
  ['only proxies', behind, '10.1.2.3', '10.9.9.9', '10.9.9.9'],
  ['no header', behind, '10.1.2.3', null, '10.1.2.3'],
  ['an empty header', behind, '10.1.2.3', '', '10.1.2.3'],
  ['IPv4 inside IPv6', behind, '::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
  ['IPv6', behind, 'fd00::1', '2001:db8::7', '2001:db8::7'],
]

test.each(ROWS)('%s', async (_what, runtime, remoteAddress, forwarded, expected) => {
  const { method, path } = ROUTES.login
  await runtime.instances[0].app.inject({
    ...{ method, url: path, remoteAddress, payload: { email: 'a@example.test', password: 'x'.repeat(12) } },
    headers: forwarded === null ? {} : { 'x-forwarded-for': forwarded },
  })
  expect(seen.splice(0)).toEqual([expected])
})
