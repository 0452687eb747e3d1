// An agent of the OpenAI Agents SDK, governed: the refund that was too high is blocked, and a person approves the other
// one, while the run is interrupted. Needs the running service, COUNTERSIGN_API_KEY, and `node scripts/frameworks.mjs`
// once.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { openSession } from '@countersign/sdk'
import { govern } from '@countersign/sdk/openai-agents'
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents'
import { z } from 'zod'
import { checkRequests, PROMPT, refundModel } from '../refund-story.js'

const model = await refundModel()
const refunds: number[] = []
const session = openSession({
  agent: 'openai-agents-refunds',
  contractsDir: fileURLToPath(new URL('../contracts', import.meta.url)),
})

const agent = govern(
  session,
  new Agent({
    name: 'refund desk',
    model: 'gpt-4o',
    tools: [
      tool({
        name: 'find_order',
        description: 'Looks an order up',
        parameters: z.object({ order_id: z.string() }),
        execute: ({ order_id }) => ({ order_id, paid: 40 }),
      }),
      tool({
        name: 'issue_refund',
        description: 'Refunds an order',
        parameters: z.object({ order_id: z.string(), amount: z.number() }),
        execute: ({ amount }) => {
          refunds.push(amount)
          return { refunded: amount }
        },
      }),
    ],
  }),
  {
    modelProvider: new OpenAIProvider({ apiKey: 'not needed on loopback', baseURL: model.openaiUrl }),
    approver: 'ann',
  },
)

const runner = new Runner({ tracingDisabled: true })
const asked = await runner.run(agent, PROMPT)
const [question] = asked.interruptions
assert(question)
assert.deepEqual(refunds, [])
console.log('ann is asked about', question.arguments)

asked.state.approve(question)
const { finalOutput } = await runner.run(agent, asked.state)
assert.equal(finalOutput, 'I refunded 40.')
assert.deepEqual(refunds, [40])
checkRequests(model)
assert.equal(session.getState().stateVersion, 2)
assert.equal(session.getHealth().protectionLevel, 'govern')
console.log(`refunded: ${refunds}`)

await session.close()
await model.close()
