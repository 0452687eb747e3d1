// The model of docs/tutorial.md for readers without an account: it speaks OpenAI's API on loopback and asks for too
// much at first, as a model might. Run it with `npx tsx examples/tutorial-model.ts`; stop it with Ctrl-C.
import { createServer } from 'node:http'
import { type Reply, renderResponse } from '../test/support/provider/provider-wire.js'
import { calls, says } from './scripted-model.js'

const PORT = 4320

/** Replies according to the conversation so far. */
function reply(messages: readonly { role: string; content?: unknown }[]): Reply {
  const results = messages.filter(({ role }) => role === 'tool').length
  const wasCorrected = messages.filter(({ role }) => role !== 'tool').length > 2
  if (results === 0) return calls('find_order', { order_id: 'A-1' })
  if (results === 1) return calls('issue_refund', { order_id: 'A-1', amount: wasCorrected ? 40 : 400 })
  return says('I refunded 40.')
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { messages = [], model = 'scripted' } = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}')
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(renderResponse('openai-chat', { model, ...reply(messages) })))
})
server.listen(Number(process.env.PORT ?? PORT), '127.0.0.1', () => {
  const address = server.address()
  console.log(`the scripted model listens at http://127.0.0.1:${typeof address === 'object' ? address?.port : PORT}/v1`)
})
