// A refund agent serves three customers. The model is scripted and speaks OpenAI's API on loopback; the openai
// client, the SDK and the server are real. Run it with `npm run demo` while `npm start` is running.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { replay } from '@countersign/sdk'
import OpenAI from 'openai'
import { scriptedModel } from '../scripted-model.js'
import { CUSTOMERS, type Customer } from './customers.js'
import { show } from './screen.js'

const TOOLS = ['find_order', 'read_document', 'issue_refund', 'escalate', 'delete_customer'] as const
const MOST_TURNS = 8

const ibansPaid = new Map<string, string>()
const pages: string[] = []

show.beginning()
for (const [index, customer] of CUSTOMERS.entries()) {
  show.customer(index + 1, customer.title, customer.name, customer.asks)
  pages.push(await serve(customer))
}
show.links(pages)

// Check what the demo claims.
assert.deepEqual(
  [...ibansPaid],
  [
    ['A-1001', 'DE02120300000000202051'],
    ['A-1003', 'NL91ABNA0417164300'],
  ],
)

/** One conversation in one governed session. Returns the address of the session's page. */
async function serve(customer: Customer): Promise<string> {
  const model = await scriptedModel()
  model.say(...customer.model)
  const openai = new OpenAI({ apiKey: 'not needed on loopback', baseURL: model.openaiUrl })
  const session = replay(openai, {
    contractsDir: fileURLToPath(new URL('contracts', import.meta.url)),
    tools: executors(customer),
    maxRetries: 1,
    onNarrow: ({ removed }) => show.narrowed(removed),
    onBlock: ({ blocked }) => show.blocked(blocked),
  })
  try {
    await converse(session, customer)
    return `${process.env.COUNTERSIGN_API_URL}/sessions/${session.sessionId}`
  } finally {
    await session.restore()
    await model.close()
  }
}

type Session = ReturnType<typeof replay<OpenAI>>

async function converse(session: Session, customer: Customer): Promise<void> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: customer.asks }]
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const completion = await session.client.chat.completions.create({ model: 'gpt-4o', messages, tools: definitions() })
    const message = completion.choices[0]?.message
    assert(message)
    messages.push(message)
    if (!message.tool_calls) return show.said(message.content ?? '')
    for (const call of message.tool_calls) {
      if (call.type !== 'function') continue
      const args: unknown = JSON.parse(call.function.arguments)
      show.allowed(call.function.name, args)
      const result = await session.tools?.[call.function.name]?.(args, { callId: call.id })
      show.receipt(session.getState().stateVersion, result)
      messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) })
    }
  }
  assert.fail('the model did not come to an end')
}

function executors({ order, document }: Customer) {
  return {
    find_order: () => order,
    read_document: () => ({ text: document ?? '' }),
    issue_refund: ({ order_id, iban }: { order_id: string; iban: string }) => {
      ibansPaid.set(order_id, iban)
      return { refunded: true }
    },
    escalate: () => ({ ticket: 'T-77' }),
    delete_customer: () => assert.fail('no customer may be deleted here'),
  }
}

function definitions() {
  return TOOLS.map((name) => ({ type: 'function' as const, function: { name, parameters: { type: 'object' } } }))
}
