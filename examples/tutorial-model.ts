// The model of docs/tutorial.md and of the guides to frameworks, for readers without an account: it speaks OpenAI's APIs
// on loopback and asks for too much at first, as a model might. Run it with `npx tsx examples/tutorial-model.ts`; stop it
// with Ctrl-C.
import { createServer } from 'node:http'
import { apiOfPath, type Reply, renderResponse } from '../test/support/provider/provider-wire.js'
import { calls, says } from './scripted-model.js'

const PORT = 4320

interface Message {
  readonly role?: string
  readonly type?: string
}

const isResult = ({ role, type }: Message): boolean => role === 'tool' || type === 'function_call_output'

/** Replies according to the conversation so far. */
function reply(messages: readonly Message[]): Reply {
  const results = messages.filter(isResult)
  const last = messages.at(-1)
  const refund = (amount: number) => calls('issue_refund', { order_id: 'A-1', amount })
  if (last === undefined || results.length === 0) return calls('find_order', { order_id: 'A-1' })
  // What was blocked is told in a message after the results, or as the result of the call.
  const wasCorrected = !isResult(last) || JSON.stringify(last).includes('was blocked')
  if (results.length === 1) return refund(wasCorrected ? 40 : 400)
  return wasCorrected ? refund(40) : says('I refunded 40.')
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { messages, input = [], model = 'scripted' } = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}')
  const api = apiOfPath(request.url ?? '') ?? 'openai-chat'
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(renderResponse(api, { model, ...reply(messages ?? input) })))
})
server.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EADDRINUSE') throw error
  console.error(
    `port ${process.env.PORT ?? PORT} is in use: stop what listens there, or choose another one with PORT=4321`,
  )
  process.exitCode = 1
})
server.listen(Number(process.env.PORT ?? PORT), '127.0.0.1', () => {
  const address = server.address()
  console.log(`the scripted model listens at http://127.0.0.1:${typeof address === 'object' ? address?.port : PORT}/v1`)
})
