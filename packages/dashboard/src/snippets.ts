const DEFAULT_ORIGIN = 'http://127.0.0.1:4319'

/** Code to paste, with this service's own address where it is not the one the SDK assumes. */
export const installSnippet = 'npm install @countersign/sdk openai'

export function environmentSnippet(apiKey: string, origin = location.origin): string {
  const address = origin === DEFAULT_ORIGIN ? [] : [`export COUNTERSIGN_API_URL=${origin}`]
  return [`export COUNTERSIGN_API_KEY=${apiKey}`, ...address].join('\n')
}

export const observeSnippet = `import OpenAI from 'openai'
import { observe } from '@countersign/sdk'

const client = new OpenAI()
observe(client, { agent: 'support' })

// Use the client as before: every tool call is now seen, none is changed.`

export const governSnippet = `import OpenAI from 'openai'
import { replay } from '@countersign/sdk'

const session = replay(new OpenAI(), {
  agent: 'support',
  contractsDir: './contracts',
  tools: { issue_refund: (args) => issueRefund(args) },
})

// Calls go through session.client, tools through session.tools.
const answer = await session.client.chat.completions.create({
  model: 'gpt-4o',
  messages,
  tools,
})`

export const contractSnippet = `# contracts/issue_refund.yaml
tool: issue_refund
side_effect: financial
argument_value_invariants:
  - { path: $.amount, gt: 0, lte: 500 }
preconditions:
  - { requires_prior_tool: verify_identity }`

export const workflowSnippet = `const session = replay(client, {
  agent: 'triage',
  contractsDir: './contracts',
  tools,
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
  `npx countersign plan submit ./contracts --agent support --environment production \\
  --url ${origin} --key "$COUNTERSIGN_API_KEY"`
