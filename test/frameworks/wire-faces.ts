import OpenAI from 'openai'
import { openSession, replay } from '../../packages/sdk/src/index.js'
import type { Face, Story } from './story.js'
import { startWireModel } from './wire-model.js'

type Chat = OpenAI.ChatCompletionMessageParam

/** A governed client, and how its calls are run. */
interface Governed {
  readonly sessionId: string
  readonly client: OpenAI
  run(name: string, args: unknown, callId: string): Promise<unknown>
  close(): Promise<void>
}

/** A loop written by hand, on a client that `replay` governs. */
export const replayFace = loopFace('replay', (client, story) => {
  const session = replay(client(fetch), { gate: 'answer', ...story.options, tools: story.tools })
  return {
    sessionId: session.sessionId,
    client: session.client,
    run: async (name, args, callId) => session.tools[name]?.(args, { callId }),
    close: () => session.restore(),
  }
})

/** The same loop on a plain client with the `fetch` of a session. */
export const fetchFace = loopFace('session.fetch', (client, story) => {
  const session = openSession({ ...story.options, tools: story.tools })
  return {
    sessionId: session.sessionId,
    client: client(session.fetch),
    run: (_, args, callId) => session.run(callId, args),
    close: () => session.close(),
  }
})

function loopFace(name: string, govern: (client: (send: typeof fetch) => OpenAI, story: Story) => Governed): Face {
  return {
    name,
    lacks: {},
    async tell(story) {
      const model = await startWireModel(story)
      const governed = govern(
        (send) => new OpenAI({ apiKey: 'sk-test', baseURL: model.url, maxRetries: 1, fetch: send }),
        story,
      )
      const messages: Chat[] = [{ role: 'user', content: 'go on' }]
      let error: unknown = null
      try {
        for (let calls = 1; calls > 0; ) {
          const message = await ask(governed.client, story, messages)
          messages.push(message)
          const asked = message.tool_calls ?? []
          messages.push(...(await Promise.all(asked.map((call) => runCall(governed, story, call)))))
          calls = asked.length
        }
      } catch (thrown) {
        error = thrown
      }
      await governed.close()
      await model.close()
      return { sessionId: governed.sessionId, requests: model.requests(), error }
    },
  }
}

async function ask(
  client: OpenAI,
  { tools, stream, log }: Story,
  messages: Chat[],
): Promise<OpenAI.ChatCompletionMessage> {
  const request = {
    model: 'gpt-test',
    messages,
    tools: Object.keys(tools).map((name) => ({
      type: 'function' as const,
      function: { name, parameters: { type: 'object' } },
    })),
  }
  if (!stream) return (await client.chat.completions.create(request)).choices[0]!.message
  const streaming = client.chat.completions.stream(request)
  for await (const chunk of streaming) {
    for (const { id } of chunk.choices[0]?.delta.tool_calls ?? []) if (id !== undefined) log.push(`saw ${id}`)
  }
  return (await streaming.finalChatCompletion()).choices[0]!.message
}

async function runCall(
  governed: Governed,
  { changed }: Story,
  call: OpenAI.ChatCompletionMessageToolCall,
): Promise<Chat> {
  if (call.type !== 'function') throw new Error(`no such call: ${call.type}`)
  const args = changed[call.id] ?? JSON.parse(call.function.arguments)
  const content = await governed.run(call.function.name, args, call.id).then(
    (result) => JSON.stringify(result),
    (error) => String(error),
  )
  return { role: 'tool', tool_call_id: call.id, content }
}
