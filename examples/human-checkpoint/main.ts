// A person approves large payments. The callback is yours: a chat message, a web page, a prompt in the terminal.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { ReplayContractError, replay } from '@countersign/sdk'
import OpenAI from 'openai'
import { calls, scriptedModel } from '../scripted-model.js'

const model = await scriptedModel()
model.say(calls('pay', { amount: 50 }), calls('pay', { amount: 300 }), calls('pay', { amount: 400 }))

const paid: number[] = []
const asked: number[] = []
const session = replay(new OpenAI({ apiKey: 'not needed on loopback', baseURL: model.openaiUrl }), {
  contractsDir: fileURLToPath(new URL('contracts', import.meta.url)),
  requireProtection: 'protect', // with or without the service
  tools: {
    pay: ({ amount }: { amount: number }) => {
      paid.push(amount)
      return { ok: true }
    },
  },
  onCheckpoint: async (request) => {
    const amount = Number(request.arguments.amount)
    asked.push(amount)
    const decision = amount <= 300 ? 'approve' : 'deny'
    console.log(`${request.reason} of ${amount}: ${decision}`)
    return {
      checkpoint_id: request.checkpoint_id,
      decision,
      decided_by: 'ann@example.com',
      decided_at: new Date().toISOString(),
    }
  },
})

async function turn(): Promise<void> {
  const completion = await session.client.chat.completions.create({
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'Pay the invoice.' }],
    tools: [{ type: 'function', function: { name: 'pay', parameters: { type: 'object' } } }],
  })
  const call = completion.choices[0]?.message.tool_calls?.[0]
  assert(call?.type === 'function')
  await session.tools?.pay?.(JSON.parse(call.function.arguments), { callId: call.id })
}

await turn()
await turn()
await assert.rejects(turn(), (error) => {
  assert(error instanceof ReplayContractError)
  assert.equal(error.decision.blocked[0]?.reason, 'checkpoint_denied')
  return true
})
// Small payments need no approval; a denied payment does not run.
assert.deepEqual(asked, [300, 400])
assert.deepEqual(paid, [50, 300])
assert.equal(session.getState().stateVersion, 2)

await session.restore()
await model.close()
