import OpenAI from 'openai'
import { replay } from '../../packages/sdk/src/index.js'
import type { Face, Story } from './story.js'
import { startWireModel } from './wire-model.js'

type Chat = OpenAI.ChatCompletionMessageParam

/** A loop written by hand, on a client that `replay` governs. */
export const replayFace: Face = {
  name: 'replay',
  lacks: {},
  async tell(story) {
    const model = await startWireModel(story)
    const client = new OpenAI({ apiKey: 'sk-test', baseURL: model.url, maxRetries: 1 })
    const session = replay(client, { gate: 'answer', ...story.options, tools: story.tools })
    const messages: Chat[] = [{ role: 'user', content: 'go on' }]
    let error: unknown = null
    try {
      for (let calls = 1; calls > 0; ) {
        const message = await ask(session.client, story, messages)
        messages.push(message)
        const asked = message.tool_calls ?? []
        messages.push(...(await Promise.all(asked.map((call) => runCall(session, story, call)))))
        calls = asked.length
      }
    } catch (thrown) {
      error = thrown
    }
    await session.restore()
    await model.close()
    return { sessionId: session.sessionId, requests: model.requests(), error }
  },
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

type Session = ReturnType<typeof replay<OpenAI>>

async function runCall(
  session: Session,
  { changed }: Story,
  call: OpenAI.ChatCompletionMessageToolCall,
): Promise<Chat> {
  if (call.type !== 'function') throw new Error(`no such call: ${call.type}`)
  const args = changed[call.id] ?? JSON.parse(call.function.arguments)
  const content = await Promise.resolve(session.tools?.[call.function.name]?.(args, { callId: call.id })).then(
    (result) => JSON.stringify(result),
    (error) => String(error),
  )
  return { role: 'tool', tool_call_id: call.id, content }
}
