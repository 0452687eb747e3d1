import OpenAI from 'openai'
import { VERSION } from 'openai/version'
import { openSession, type ReplaySession, replay, type ToolMap } from '../../packages/sdk/src/index.js'
import { type AgentSession, type Face, passedOn, type Story } from './story.js'
import { startWireModel } from './wire-model.js'

/** That of the frameworks; the other tests of the wire use version 6. */
const MAJOR = VERSION.split('.', 1)[0]

type Chat = OpenAI.ChatCompletionMessageParam

/** A governed client, and how its calls are run. */
interface Governed {
  readonly session: AgentSession
  readonly client: OpenAI
  run(name: string, args: unknown, callId: string): Promise<unknown>
}

/** A loop written by hand, on a client that `replay` governs. */
export const replayFace = loopFace(`replay of openai ${MAJOR}`, (client, story) => {
  const tools = toolsOf(story, (): AgentSession => session)
  const session: ReplaySession<OpenAI> = replay(client(fetch), { gate: 'answer', ...story.options, tools })
  return {
    session,
    client: session.client,
    run: async (name, args, callId) => session.tools?.[name]?.(args, { callId }),
  }
})

/** The same loop on a plain client with the `fetch` of a session. */
export const fetchFace = loopFace(`session.fetch of openai ${MAJOR}`, (client, story) => {
  const session: AgentSession = openSession({ ...story.options, tools: toolsOf(story, () => session) })
  return { session, client: client(session.fetch), run: (_, args, callId) => session.run(callId, args) }
})

const toolsOf = ({ tools }: Story, session: () => AgentSession): ToolMap =>
  Object.fromEntries(Object.entries(tools).map(([name, execute]) => [name, (args) => execute(args, session())]))

function loopFace(name: string, govern: (client: (send: typeof fetch) => OpenAI, story: Story) => Governed): Face {
  return {
    name,
    lacks: {},
    async open(story) {
      const model = await startWireModel(story)
      const governed = govern(
        (send) => new OpenAI({ apiKey: 'sk-test', baseURL: model.url, maxRetries: 1, fetch: send }),
        story,
      )
      return {
        session: governed.session,
        run: () => loop(governed, story),
        requests: model.requests,
        close: () => governed.session.close().finally(model.close),
      }
    },
  }
}

async function loop(governed: Governed, story: Story): Promise<void> {
  const messages: Chat[] = [{ role: 'user', content: 'go on' }]
  for (let calls = 1; calls > 0; ) {
    const message = await ask(governed.client, story, messages)
    messages.push(message)
    const asked = message.tool_calls ?? []
    messages.push(...(await Promise.all(asked.map((call) => runCall(governed, story, call)))))
    calls = asked.length
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

async function runCall(governed: Governed, story: Story, call: OpenAI.ChatCompletionMessageToolCall): Promise<Chat> {
  if (call.type !== 'function') throw new Error(`no such call: ${call.type}`)
  const args = passedOn(story, call.id, JSON.parse(call.function.arguments))
  const content = await governed.run(call.function.name, args, call.id).then(
    (result) => JSON.stringify(result),
    (error) => String(error),
  )
  return { role: 'tool', tool_call_id: call.id, content }
}
