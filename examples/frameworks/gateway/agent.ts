// A plain agent: an OpenAI client and an MCP client, and nothing of Countersign. Both talk to the gateway.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import OpenAI from 'openai'

export interface AgentOptions {
  /** Such as `http://127.0.0.1:4320/refunds`. */
  readonly gateway: string
  /** For MCP: the API key of Countersign. */
  readonly key: string
  /** Names the conversation in both headers. */
  readonly sessionId: string
}

export async function runAgent(prompt: string, { gateway, key, sessionId }: AgentOptions): Promise<string> {
  const session = { 'x-countersign-session': sessionId }
  const openai = new OpenAI({ apiKey: 'of your provider', baseURL: `${gateway}/openai/v1`, defaultHeaders: session })
  const shop = new Client({ name: 'refund-agent', version: '1.0.0' })
  const headers = { ...session, authorization: `Bearer ${key}` }
  await shop.connect(new StreamableHTTPClientTransport(new URL(`${gateway}/mcp/shop`), { requestInit: { headers } }))

  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }]
  for (;;) {
    const { tools } = await shop.listTools()
    const { choices } = await openai.chat.completions.create({
      model: 'gpt-4o',
      messages,
      // The name says which server the tool is on, as in contracts.
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: 'function',
        function: { name: `shop__${name}`, description, parameters: { ...inputSchema } },
      })),
    })
    const message = choices[0]?.message
    if (message === undefined) throw new Error('the model gave no answer')
    messages.push(message)
    for (const call of message.tool_calls ?? []) {
      if (call.type !== 'function') continue
      const result = await shop.callTool({
        name: call.function.name.replace('shop__', ''),
        arguments: JSON.parse(call.function.arguments),
      })
      messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result.content) })
    }
    if (message.content === 'I refunded 40.') {
      await shop.close()
      return message.content
    }
    // What was blocked is said in the answer: the model reads it with the next request.
    if (!message.tool_calls) messages.push({ role: 'user', content: 'Go on.' })
  }
}
