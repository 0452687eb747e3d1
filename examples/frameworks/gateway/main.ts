// An agent without any SDK of ours, governed by URLs alone: its model and its MCP tools both pass the gateway, in one
// session. What the model proposed is what runs, once, and its receipt says `executed`. Needs the running service,
// COUNTERSIGN_API_KEY, the login of the person who approves the contracts (COUNTERSIGN_EMAIL, COUNTERSIGN_PASSWORD), and
// `node scripts/frameworks.mjs` once.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { readSettings, startGateway } from '@countersign/gateway'
import { signIn } from '../../learn-and-approve/person.js'
import { calls, says, scriptedModel } from '../../scripted-model.js'
import { runAgent } from './agent.js'
import { startShop } from './shop.js'

const { COUNTERSIGN_API_URL: apiUrl = '', COUNTERSIGN_API_KEY: key = '' } = process.env
const agent = `refunds-${Date.now()}`
const withKey = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }

// 1. Contracts are submitted, and a person approves them.
const folder = new URL('contracts/', import.meta.url)
const files = readdirSync(folder).map((name) => ({
  file: `contracts/${name}`,
  text: readFileSync(new URL(name, folder), 'utf8'),
}))
const submitted = await fetch(`${apiUrl}/api/v1/governance/plans`, {
  method: 'POST',
  headers: withKey,
  body: JSON.stringify({ agent, environment: 'production', files }),
})
const { plan } = await submitted.json()
const person = await signIn()
await person.post(`/api/dashboard/plans/${plan.plan_id}/approve`, { why: 'refunds are at most what was paid' })

// 2. The gateway: countersign gateway --upstream openai=… --mcp shop=… --require-proposal
const model = await scriptedModel()
const refunds: number[] = []
const shop = await startShop(refunds)
const settings = readSettings({
  env: { COUNTERSIGN_API_KEY: key },
  flags: {
    port: '0',
    'log-level': 'warn',
    'api-url': apiUrl,
    upstream: `openai=${model.openaiUrl}`,
    mcp: `shop=${shop.url}`,
    'require-proposal': 'true',
  },
  readFile: () => '',
})
const gateway = await startGateway(settings, { log: console.error, fetch })

// 3. The agent. The model asks for more than was paid, is told, and asks for what was.
model.say(
  calls('shop__find_order', { order_id: 'A-1' }),
  calls('shop__issue_refund', { order_id: 'A-1', amount: 400 }),
  calls('shop__issue_refund', { order_id: 'A-1', amount: 40 }),
  says('I refunded 40.'),
)
const sessionId = `ses_${agent}`
await runAgent('Order A-1 arrived broken. I want 400 back.', { gateway: `${gateway.url}/${agent}`, key, sessionId })
assert.deepEqual(refunds, [40])
assert.match(JSON.stringify(model.requests()[2]), /was blocked \(envelope_violation\)/)

// 4. The evidence: what was proposed, what was decided, what ran.
const exported = await fetch(`${apiUrl}/api/v1/replay/sessions/${sessionId}/events`, { headers: withKey })
const { events } = await exported.json()
for (const { type, body } of events) {
  for (const call of type === 'proposal' ? body.calls : []) {
    console.log(`proposed ${call.tool_name}: ${call.decision} ${call.reasons}`)
  }
  for (const receipt of type === 'receipts' ? body.receipts : []) {
    console.log(`receipt: ${receipt.outcome}, ${receipt.evidence_level}`)
  }
}
console.log(`refunded: ${refunds}`)

await gateway.close()
await shop.close()
await model.close()
