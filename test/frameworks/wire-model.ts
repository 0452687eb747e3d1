import { type LoopbackProvider, startProvider } from '../support/provider/provider.js'
import type { ModelRequest, Story } from './story.js'

/** The scripted model behind the wire of OpenAI, for faces that speak it. */
export interface WireModel {
  readonly url: string
  requests(): ModelRequest[]
  /** What the assistant said in the conversation of the latest request. */
  saidBefore(): string
  close(): Promise<void>
}

export async function startWireModel({ turns }: Pick<Story, 'turns'>): Promise<WireModel> {
  const provider = await startProvider()
  for (const { calls = [], text, failures = 0 } of turns) {
    for (let failed = 0; failed < failures; failed += 1) {
      provider.enqueue({ status: 503, error: { message: 'overloaded' }, headers: { 'retry-after-ms': '1' } })
    }
    provider.enqueue({
      ...(text !== undefined && { text }),
      calls: calls.map(({ id, name, args }) => ({ id, name, arguments: args })),
    })
  }
  return {
    url: `${provider.url}/v1`,
    requests: () => provider.requests.map(requestOf),
    saidBefore: () => saidIn((provider.requests.at(-1)?.body ?? {}) as ChatBody),
    close: () => provider.close(),
  }
}

interface ChatBody {
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
  readonly messages?: readonly { readonly role: string; readonly tool_call_id?: string; readonly content?: unknown }[]
}

const saidIn = ({ messages = [] }: ChatBody): string =>
  messages.map(({ role, content }) => (role === 'assistant' && typeof content === 'string' ? content : '')).join('\n')

function requestOf({ body }: LoopbackProvider['requests'][number]): ModelRequest {
  const { tools = [], messages = [] } = (body ?? {}) as ChatBody
  const results = messages.filter(({ role }) => role === 'tool')
  return {
    offered: tools.map((tool) => tool.function.name),
    results: Object.fromEntries(results.map(({ tool_call_id, content }) => [tool_call_id, String(content)])),
  }
}
