// A governed stream: text flows immediately, tool calls are held until they are judged. A blocked call is never
// released.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import Anthropic from '@anthropic-ai/sdk'
import { replay } from '@countersign/sdk'
import { scriptedModel } from '../scripted-model.js'

const model = await scriptedModel()
model.say({
  text: 'I will look that up and tidy up behind me.',
  calls: [
    { name: 'search', arguments: { query: 'countersign' } },
    { name: 'delete_file', arguments: { path: '/etc/passwd' } },
  ],
})

const session = replay(new Anthropic({ apiKey: 'not needed on loopback', baseURL: model.anthropicUrl }), {
  contractsDir: fileURLToPath(new URL('contracts', import.meta.url)),
  requireProtection: 'protect', // with or without the service
  // Remove blocked calls from the response and return the rest.
  gate: 'strip_blocked',
  tools: {
    search: () => ['found'],
    delete_file: () => assert.fail('this must not run'),
  },
})

const stream = await session.client.messages.create({
  model: 'claude-sonnet-4-6',
  max_tokens: 1000,
  messages: [{ role: 'user', content: 'Look up countersign.' }],
  tools: ['search', 'delete_file'].map((name) => ({ name, input_schema: { type: 'object' as const } })),
  stream: true,
})

const toolsSeen: string[] = []
for await (const event of stream) {
  if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') process.stdout.write(event.delta.text)
  if (event.type === 'content_block_start' && event.content_block.type === 'tool_use')
    toolsSeen.push(event.content_block.name)
}
console.log(`\nreleased: ${toolsSeen.join(', ')}`)
assert.deepEqual(toolsSeen, ['search'])
assert.deepEqual(await session.tools?.search?.({ query: 'countersign' }), ['found'])
assert.equal(session.getState().stateVersion, 1)

await session.restore()
await model.close()
