// Protect: contracts without a server, a key or an account. The same engine as on the server runs inside this
// process.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { ReplayContractError, replay } from '@countersign/sdk'
import OpenAI from 'openai'
import { calls, scriptedModel } from '../scripted-model.js'

const model = await scriptedModel()
model.say(calls('send_email', { to: 'ann@example.com' }), calls('send_email', { to: 'everybody@elsewhere.test' }))

const session = replay(new OpenAI({ apiKey: 'not needed on loopback', baseURL: model.openaiUrl }), {
  contractsDir: fileURLToPath(new URL('contracts', import.meta.url)),
})
const ask = () =>
  session.client.chat.completions.create({
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'Send the minutes.' }],
    tools: [{ type: 'function', function: { name: 'send_email', parameters: { type: 'object' } } }],
  })

const allowed = await ask()
assert.equal(allowed.choices[0]?.message.tool_calls?.length, 1)
console.log('a mail to a colleague: allowed')

await assert.rejects(ask(), (error) => {
  assert(error instanceof ReplayContractError)
  const [blocked] = error.decision.blocked
  assert.equal(blocked?.reason, 'argument_value_mismatch')
  console.log(`a mail to a stranger: blocked (${blocked.reason}). ${blocked.remedy}`)
  return true
})
assert.equal(session.getHealth().protectionLevel, 'protect')

await session.restore()
await model.close()
