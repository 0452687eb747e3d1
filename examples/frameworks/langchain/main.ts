// An agent of LangChain, governed: the refund that was too high is blocked, and a person approves the other one, while
// the graph is interrupted. Needs the running service, COUNTERSIGN_API_KEY, and `node scripts/frameworks.mjs` once.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { openSession } from '@countersign/sdk'
import { countersign } from '@countersign/sdk/langchain'
import { Command, MemorySaver } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
import { checkRequests, PROMPT, refundModel } from '../refund-story.js'

const model = await refundModel()
const refunds: number[] = []
const session = openSession({
  agent: 'langchain-refunds',
  contractsDir: fileURLToPath(new URL('../contracts', import.meta.url)),
})

const findOrder = tool(async ({ order_id }) => JSON.stringify({ order_id, paid: 40 }), {
  name: 'find_order',
  description: 'Looks an order up',
  schema: z.object({ order_id: z.string() }),
})
const issueRefund = tool(
  async ({ amount }) => {
    refunds.push(amount)
    return JSON.stringify({ refunded: amount })
  },
  {
    name: 'issue_refund',
    description: 'Refunds an order',
    schema: z.object({ order_id: z.string(), amount: z.number() }),
  },
)

const agent = createAgent({
  model: new ChatOpenAI({
    model: 'gpt-4o',
    apiKey: 'not needed on loopback',
    configuration: { baseURL: model.openaiUrl },
  }),
  tools: [findOrder, issueRefund],
  middleware: [countersign(session)],
  checkpointer: new MemorySaver(),
})

const thread = { configurable: { thread_id: 'one' } }
const asked = await agent.invoke({ messages: [{ role: 'user', content: PROMPT }] }, thread)
const [question] = asked.__interrupt__ ?? []
assert.deepEqual(refunds, [])
console.log('a person is asked about', JSON.stringify(question?.value))

const answer = { decision: 'approve', decidedBy: 'ann' }
const { messages } = await agent.invoke(new Command({ resume: answer }), thread)
assert.equal(messages.at(-1)?.text, 'I refunded 40.')
assert.deepEqual(refunds, [40])
checkRequests(model)
assert.equal(session.getState().stateVersion, 2)
assert.equal(session.getHealth().protectionLevel, 'govern')
console.log(`refunded: ${refunds}`)

await session.close()
await model.close()
