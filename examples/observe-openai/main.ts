// Observe: captures the model calls of an agent without changing anything, and sends them to the service in batches.
import assert from 'node:assert/strict'
import { type Diagnostic, observe } from '@countersign/sdk'
import OpenAI from 'openai'
import { calls, scriptedModel } from '../scripted-model.js'

const model = await scriptedModel()
model.say(calls('get_weather', { city: 'Oslo' }))
const openai = new OpenAI({ apiKey: 'not needed on loopback', baseURL: model.openaiUrl })

// The address and the key come from COUNTERSIGN_API_URL and COUNTERSIGN_API_KEY.
const troubles: Diagnostic[] = []
const handle = observe(openai, { agent: 'weather', diagnostics: (event) => troubles.push(event) })

// The program continues as before: the client is the same object, and responses are untouched.
const completion = await openai.chat.completions.create({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'How is the weather in Oslo?' }],
  tools: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }],
})
const call = completion.choices[0]?.message.tool_calls?.[0]
assert(call?.type === 'function')
console.log(`the model wants ${call.function.name} ${call.function.arguments}`)

await handle.flush()
assert.deepEqual(troubles, [])
console.log('the capture is on the server: tool names and arguments, no messages')

handle.restore()
await model.close()
