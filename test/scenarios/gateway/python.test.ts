import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { docBlocks } from '../../support/files/doc-blocks.js'
import { withGateways } from '../../support/gateway/gateway.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()
const gateways = await withGateways(runtime)

test('the Python program of the guide is governed by its base URL', async (context) => {
  const agent = await gateways.agentWith([
    { tool: 'find_order', side_effect: 'read' },
    { tool: 'refund', side_effect: 'write', argument_value_invariants: [{ path: '$.amount', lte: 40 }] },
  ])
  const gateway = await gateways.start()
  gateways.provider.enqueue(
    { calls: [{ id: 'c1', name: 'find_order', arguments: { order_id: '1017' } }] },
    { calls: [{ id: 'c2', name: 'refund', arguments: { amount: 900 } }] },
  )
  const [program] = docBlocks().filter(
    ({ page, language }) => page.endsWith('gateway-python.md') && language === 'python',
  )
  const env = { PATH: process.env.PATH, BASE_URL: gateway.openai(agent), OPENAI_API_KEY: 'sk' }
  const python = spawn('python3', ['-c', program?.text ?? ''], { env })
  const ended = once(python, 'close').catch((error) => error)
  let printed = ''
  for (const stream of [python.stdout, python.stderr]) {
    stream.on('data', (chunk) => {
      printed += chunk
    })
  }
  const outcome = await ended
  if (outcome instanceof Error) return context.skip('python3 is not installed')
  expect(printed).toContain('find_order {"order_id": "1017"} -> {"order_id": "1017", "paid": 40}')
  expect(printed).toContain('"refund" was blocked (argument_value_mismatch)')
  expect(printed).not.toContain('refunded')
})
