import type { JsonObject } from '@countersign/protocol'
import { AIMessage, createAgent, createMiddleware, fakeModel, modelRetryMiddleware, tool } from 'langchain'
import { countersign } from '../../packages/sdk/src/adapters/langchain/index.js'
import { openSession } from '../../packages/sdk/src/index.js'
import { type Face, type ModelRequest, passedOn, type Story } from './story.js'

/** An agent of LangChain with the adapter's middleware. */
export const langchainFace: Face = {
  name: 'langchain',
  lacks: {},
  open(story) {
    const session = openSession(story.options)
    const requests: ModelRequest[] = []
    const agent = createAgent({
      model: scripted(story),
      tools: Object.entries(story.tools).map(([name, execute]) =>
        tool(async (args) => JSON.stringify(await execute(args as JsonObject, session)), {
          name,
          schema: { type: 'object' },
        }),
      ),
      middleware: [
        modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 1, onFailure: 'error' }),
        changing(story),
        countersign(session),
        recording(requests),
      ],
    })
    return { session, run: () => run(agent, story), requests: () => requests, close: () => session.close() }
  },
}

async function run(agent: Pick<ReturnType<typeof createAgent>, 'invoke' | 'stream'>, { stream, log }: Story) {
  const input = { messages: [{ role: 'user' as const, content: 'go on' }] }
  if (!stream) return agent.invoke(input)
  for await (const update of await agent.stream(input, { streamMode: 'updates' })) {
    const messages = Object.values(update).flatMap((part) => (part as { messages?: AIMessage[] }).messages ?? [])
    for (const { tool_calls } of messages) for (const { id } of tool_calls ?? []) log.push(`saw ${id}`)
  }
}

function scripted({ turns }: Story) {
  const model = fakeModel()
  for (const { calls = [], text, failures = 0 } of turns) {
    for (let failed = 0; failed < failures; failed += 1) model.respond(new Error('overloaded'))
    model.respond(
      new AIMessage({
        content: text ?? '',
        tool_calls: calls.map(({ id, name, args }) => ({ id, name, args, type: 'tool_call' as const })),
      }),
    )
  }
  return model
}

/** The program passes on other arguments than it was given. */
const changing = (story: Story) =>
  createMiddleware({
    name: 'changing',
    wrapToolCall: (request, handler) => {
      const args = passedOn(story, request.toolCall.id ?? '', request.toolCall.args)
      return handler({ ...request, toolCall: { ...request.toolCall, args } })
    },
  })

/** What the model is really asked: the scripted model does not see its tools. */
const recording = (requests: ModelRequest[]) =>
  createMiddleware({
    name: 'recording',
    wrapModelCall: (request, handler) => {
      const results = request.messages.filter((message) => message.type === 'tool')
      requests.push({
        offered: request.tools.map(({ name }) => String(name)),
        results: Object.fromEntries(
          results.map((message) => [(message as unknown as { tool_call_id: string }).tool_call_id, message.text]),
        ),
      })
      return handler(request)
    },
  })
