// Govern: the server decides, stores the state, and records a receipt for each tool call. Needs the running service
// and COUNTERSIGN_API_KEY.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { ReplayContractError, replay } from '@countersign/sdk'
import OpenAI from 'openai'
import { calls, scriptedModel } from '../scripted-model.js'

const model = await scriptedModel()
model.say(
  calls('find_order', { order_id: 'A-1' }),
  calls('issue_refund', { order_id: 'A-1', amount: 400 }),
  calls('issue_refund', { order_id: 'A-1', amount: 300 }),
)

const refunds: number[] = []
const session = replay(new OpenAI({ apiKey: 'not needed on loopback', baseURL: model.openaiUrl }), {
  agent: 'govern-refunds',
  contractsDir: fileURLToPath(new URL('contracts', import.meta.url)),
  tools: {
    find_order: ({ order_id }: { order_id: string }) => ({ order_id, paid: 600 }),
    issue_refund: ({ amount }: { amount: number }) => {
      refunds.push(amount)
      return { refunded: amount }
    },
  },
})

const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Refund order A-1.' }]
/** One turn: call the model, run the allowed calls through the wrapped tools, extend the conversation. */
async function turn(): Promise<void> {
  const tools = ['find_order', 'issue_refund'].map((name) => ({
    type: 'function' as const,
    function: { name, parameters: { type: 'object' } },
  }))
  const completion = await session.client.chat.completions.create({ model: 'gpt-4o', messages, tools })
  const message = completion.choices[0]?.message
  assert(message)
  messages.push(message)
  for (const call of message.tool_calls ?? []) {
    assert(call.type === 'function')
    const result = await session.tools?.[call.function.name]?.(JSON.parse(call.function.arguments), { callId: call.id })
    messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) })
    console.log(`${call.function.name} ran; the session is at step ${session.getState().stateVersion}`)
  }
}

await turn()
// Before the order was found, the model was not offered the refund.
assert.equal([model.requests()[0]?.tools].flat().length, 1)
await turn()
await assert.rejects(turn(), (error) => {
  assert(error instanceof ReplayContractError)
  assert.equal(error.decision.blocked[0]?.reason, 'aggregate_limit_exceeded')
  console.log(`the second refund is blocked: ${error.decision.blocked[0]?.remedy}`)
  return true
})
assert.deepEqual(refunds, [400])
assert.equal(session.getHealth().protectionLevel, 'govern')
assert.equal(session.getState().stateVersion, 2)

await session.restore()
await model.close()
