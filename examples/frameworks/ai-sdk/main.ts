// An agent of the AI SDK, governed: the refund that was too high is blocked, and a person approves the other one.
// Needs the running service, COUNTERSIGN_API_KEY, and `node scripts/frameworks.mjs` once.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { createOpenAI } from '@ai-sdk/openai'
import { openSession } from '@countersign/sdk'
import { govern } from '@countersign/sdk/ai'
import { generateText, type ModelMessage, stepCountIs, tool } from 'ai'
import { z } from 'zod'
import { checkRequests, PROMPT, refundModel } from '../refund-story.js'

const model = await refundModel()
const openai = createOpenAI({ apiKey: 'not needed on loopback', baseURL: model.openaiUrl })
const refunds: number[] = []
const session = openSession({
  agent: 'ai-sdk-refunds',
  contractsDir: fileURLToPath(new URL('../contracts', import.meta.url)),
})

const agent = govern(session, {
  model: openai('gpt-4o'),
  tools: {
    find_order: tool({
      inputSchema: z.object({ order_id: z.string() }),
      execute: ({ order_id }) => ({ order_id, paid: 40 }),
    }),
    issue_refund: tool({
      inputSchema: z.object({ order_id: z.string(), amount: z.number() }),
      execute: ({ amount }) => {
        refunds.push(amount)
        return { refunded: amount }
      },
    }),
  },
  approver: 'ann',
})

const messages: ModelMessage[] = [{ role: 'user', content: PROMPT }]
const asked = await generateText({ ...agent, messages, stopWhen: stepCountIs(10) })
messages.push(...asked.responseMessages)
const requests = asked.content.filter((part) => part.type === 'tool-approval-request')
assert.equal(requests.length, 1)
assert.deepEqual(refunds, [])
console.log('ann is asked about', JSON.stringify(requests[0]?.toolCall.input))

messages.push({
  role: 'tool',
  content: requests.map(({ approvalId }) => ({ type: 'tool-approval-response', approvalId, approved: true })),
})
const { text } = await generateText({ ...agent, messages, stopWhen: stepCountIs(10) })
assert.equal(text, 'I refunded 40.')
assert.deepEqual(refunds, [40])
checkRequests(model)
assert.equal(session.getState().stateVersion, 2)
assert.equal(session.getHealth().protectionLevel, 'govern')
console.log(`refunded: ${refunds}`)

await session.close()
await model.close()
