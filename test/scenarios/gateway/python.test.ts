import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { docBlocks } from '../../support/files/doc-blocks.js'
import { withGateways } from '../../support/gateway/gateway.js'
import { answerAs } from '../../support/people/answering.js'
import { proves } from '../../support/proves.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner, key } = await withOwnedRuntime()
const { tenant_id: tenantId } = (await owner.call('me')).body.user
const gateways = await withGateways({ ...runtime, key, tenantId })

/** What a Python program writes, in a process of its own; null where there is no Python. */
async function run(program: string, env: Record<string, string>): Promise<string | null> {
  const python = spawn('python3', ['-c', program], { env: { PATH: process.env.PATH, ...env } })
  const ended = once(python, 'close').catch((error) => error)
  let printed = ''
  for (const stream of [python.stdout, python.stderr]) {
    stream.on('data', (chunk) => {
      printed += chunk
    })
  }
  return (await ended) instanceof Error ? null : printed
}

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
  const printed = await run(program?.text ?? '', { BASE_URL: gateway.openai(agent), OPENAI_API_KEY: 'sk' })
  if (printed === null) return context.skip('python3 is not installed')
  expect(printed).toContain('find_order {"order_id": "1017"} -> {"order_id": "1017", "paid": 40}')
  expect(printed).toContain('"refund" was blocked (argument_value_mismatch)')
  expect(printed).not.toContain('refunded')
})

/** One request of a program that names its session; it prints the answer, and each call that it runs. */
const PAYER = `
import json, os, urllib.request
tools = [{"type": "function", "function": {"name": "pay", "parameters": {"type": "object"}}}]
body = {"model": "m", "messages": [{"role": "user", "content": "Pay the invoice."}], "tools": tools}
headers = {"Content-Type": "application/json", "X-Countersign-Session": "ses-python"}
url = os.environ["BASE_URL"] + "/chat/completions"
with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as reply:
    message = json.load(reply)["choices"][0]["message"]
print(message.get("content"))
for call in message.get("tool_calls") or []:
    print("runs", call["function"]["arguments"])
`

proves('ask.wire', 'a Python program asks through one gateway, and another runs the call, once', async (context) => {
  const checkpoint = { reason: 'every payment', ask: {} }
  const agent = await gateways.agentWith([{ tool: 'pay', side_effect: 'write', checkpoint }])
  gateways.provider.answerWith(() => ({ calls: [{ id: 'c1', name: 'pay', arguments: { amount: 900 } }] }))
  const payer = async () => run(PAYER, { BASE_URL: (await gateways.start()).openai(agent) })
  const first = await payer()
  if (first === null) return context.skip('python3 is not installed')
  expect(first).toContain('pay waits for a person')
  const [questionId = ''] = /Q-[0-9A-Z]{12}/.exec(first) ?? []
  expect(await answerAs(owner, questionId, { decision: 'approve' })).toBe(200)
  const [second, third] = [await payer(), await payer()]
  expect([first, second, third].map((printed) => printed?.includes('runs {"amount":900}'))).toEqual([
    false,
    true,
    false,
  ])
})
