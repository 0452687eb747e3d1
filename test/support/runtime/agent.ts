import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { Diagnostic, ReplayOptions, ReplaySession } from '../../../packages/sdk/src/index.js'
import { replay } from '../../../packages/sdk/src/index.js'
import { type LoopbackProvider, type Reply, startProvider } from '../provider/provider.js'

/** A program with real model clients, a provider on loopback, and sessions on them. */
export interface Agent {
  readonly provider: LoopbackProvider
  openai(): OpenAI
  anthropic(): Anthropic
  /** A session on a fresh OpenAI client, restored when the agent ends. */
  start(options?: ReplayOptions): Started
  close(): Promise<void>
}

export interface Started {
  readonly session: ReplaySession<OpenAI>
  readonly original: OpenAI
  readonly diagnostics: Diagnostic[]
  /** One call of the model that offers these tools. */
  ask(tools: readonly string[], messages?: Message[]): Promise<OpenAI.ChatCompletion>
}

export type Message = OpenAI.ChatCompletionMessageParam

export async function startAgent(): Promise<Agent> {
  const provider = await startProvider()
  const sessions: ReplaySession<OpenAI>[] = []
  const openai = () => new OpenAI({ apiKey: 'sk-test', baseURL: `${provider.url}/v1`, maxRetries: 0 })
  return {
    provider,
    openai,
    anthropic: () => new Anthropic({ apiKey: 'sk-test', baseURL: provider.url, maxRetries: 0 }),
    start(options = {}) {
      const diagnostics: Diagnostic[] = []
      const original = openai()
      const session = replay(original, {
        diagnostics: (event) => diagnostics.push(event),
        ...options,
      })
      sessions.push(session)
      const ask = (tools: readonly string[], messages: Message[] = [{ role: 'user', content: 'go on' }]) =>
        session.client.chat.completions.create({
          model: 'gpt-4o',
          messages,
          ...(tools.length > 0 && { tools: tools.map(toolDefinition) }),
        })
      return { session, original, diagnostics, ask }
    },
    async close() {
      await Promise.all(sessions.map((session) => session.restore()))
      await provider.close()
    },
  }
}

export const toolDefinition = (name: string) => ({
  type: 'function' as const,
  function: { name, parameters: { type: 'object', properties: {} } },
})

let made = 0

/** A model's answer that calls tools: `calls(['pay', { amount: 5 }])`. */
export function calls(...wanted: [name: string, args?: object, id?: string][]): Reply {
  return {
    calls: wanted.map(([name, args = {}, id = `call_${++made}`]) => ({ id, name, arguments: JSON.stringify(args) })),
  }
}

export const says = (text: string): Reply => ({ text })

/** The messages that answer a completion's calls with these results. */
export function results(completion: OpenAI.ChatCompletion, content = '{}'): Message[] {
  const message = completion.choices[0]?.message
  if (message === undefined) return []
  const answers = (message.tool_calls ?? []).map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content }))
  return [{ role: 'user', content: 'go on' }, message, ...answers]
}

export const callNames = (completion: OpenAI.ChatCompletion): string[] =>
  (completion.choices[0]?.message.tool_calls ?? []).map((call) =>
    call.type === 'function' ? call.function.name : call.type,
  )
