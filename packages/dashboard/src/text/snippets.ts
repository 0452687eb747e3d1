const DEFAULT_ORIGIN = 'http://127.0.0.1:4319'

/** Code to paste, with this server's address when it is not the SDK's default. */
export const installSnippet = `# in the Countersign folder (the packages are not on npm yet)
npm pack -w @countersign/protocol -w @countersign/engine -w @countersign/sdk

# in your agent's folder
npm install path/to/countersign/countersign-{protocol,engine,sdk}-*.tgz openai`

export function environmentSnippet(apiKey: string, origin = location.origin): string {
  const address = origin === DEFAULT_ORIGIN ? [] : [`export COUNTERSIGN_API_URL=${origin}`]
  return [`export COUNTERSIGN_API_KEY=${apiKey}`, ...address].join('\n')
}

export const observeSnippet = `// at the start of your agent
import OpenAI from 'openai'
import { observe } from '@countersign/sdk'

const client = new OpenAI()
observe(client, { agent: 'support' })

// Use the client as before: every tool call is recorded, none is changed.`

export const contractSnippet = `# contracts/issue_refund.yaml
tool: issue_refund
side_effect: financial
gate: allow
argument_value_invariants:
  - { path: $.amount, gt: 0, lte: 500 }`

export const governSnippet = `// agent.mjs
import OpenAI from 'openai'
import { replay } from '@countersign/sdk'

const session = replay(new OpenAI(), {
  agent: 'support',
  contractsDir: 'contracts',
  tools: { issue_refund: ({ amount }) => ({ refunded: amount }) }, // your function
})

// Call the model through session.client and your tools through session.tools.
const { choices } = await session.client.chat.completions.create({
  model: 'gpt-4o',
  messages: [{ role: 'user', content: 'My order arrived broken. Refund the 40 I paid.' }],
  tools: [
    {
      type: 'function',
      function: {
        name: 'issue_refund',
        parameters: { type: 'object', properties: { amount: { type: 'number' } } },
      },
    },
  ],
})
for (const call of choices[0].message.tool_calls ?? []) {
  const args = JSON.parse(call.function.arguments)
  console.log(await session.tools[call.function.name](args, { callId: call.id }))
}
await session.restore()`

export const demoSnippet = 'npm run demo'

export const workflowSnippet = `import OpenAI from 'openai'
import { replay } from '@countersign/sdk'

const session = replay(new OpenAI(), {
  agent: 'triage',
  contractsDir: 'contracts',
  tools: { issue_refund: ({ amount }) => ({ refunded: amount }) },
  workflow: {
    workflowId: 'case-1042',
    role: 'triage',
    definition: {
      roles: { triage: { root: true }, billing: {} },
      handoffs: [{ from: 'triage', to: 'billing' }],
    },
  },
})`

export const submitSnippet = (origin = location.origin): string =>
  `npx countersign plan submit path/to/contracts --agent support --environment production \\
  --url ${origin} --key "$COUNTERSIGN_API_KEY"`
