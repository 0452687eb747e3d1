import { createOpenAI } from '@ai-sdk/openai'
import type { Contract } from '@countersign/protocol'
import { openSession } from '@countersign/sdk'
import { govern } from '@countersign/sdk/ai'
import { countersign } from '@countersign/sdk/langchain'
import { govern as governAgents } from '@countersign/sdk/openai-agents'
import { ChatOpenAI } from '@langchain/openai'
import { Agent, tool as agentTool, OpenAIProvider, Runner } from '@openai/agents'
import { generateText, jsonSchema, stepCountIs, tool } from 'ai'
import { createAgent, tool as langchainTool } from 'langchain'
import OpenAI from 'openai'

/** One run of an agent, bare and governed in the process: two model calls and one tool. */
export interface OverheadFace {
  bare(): Promise<unknown>
  protect(): Promise<unknown>
}

const PROMPT = 'Please refund my order 1017, it never arrived.'
const parameters = { type: 'object' as const, properties: { order_id: { type: 'string' as const } } }
const strict = { ...parameters, required: [], additionalProperties: true as const }
const execute = async () => ({ status: 'shipped' })

/** For `bench/overhead.ts`: the faces on the provider at this address. */
export function overheadFaces(url: string, contracts: readonly Contract[]): Record<string, OverheadFace> {
  const names = contracts.map(({ tool: name }) => name)
  const open = () => openSession({ contracts, apiKey: '', diagnostics: () => {} })
  return {
    fetch: fetchFace(url, names, open()),
    ai: aiFace(url, names, open()),
    langchain: langchainFace(url, names, open()),
    'openai-agents': agentsFace(url, names, open()),
  }
}

type Session = ReturnType<typeof openSession>

function fetchFace(url: string, names: readonly string[], session: Session): OverheadFace {
  session.addTools(Object.fromEntries(names.map((name) => [name, execute])))
  const tools = names.map((name) => ({ type: 'function' as const, function: { name, parameters } }))
  const loop = async (client: OpenAI, run: (id: string) => Promise<unknown>) => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: PROMPT }]
    const first = await client.chat.completions.create({ model: 'gpt-bench', messages, tools })
    const message = first.choices[0]!.message
    messages.push(message)
    for (const { id } of message.tool_calls ?? []) {
      messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(await run(id)) })
    }
    return client.chat.completions.create({ model: 'gpt-bench', messages, tools })
  }
  const make = (send: typeof fetch) =>
    new OpenAI({ apiKey: 'unused', baseURL: `${url}/v1`, maxRetries: 0, fetch: send })
  const [bare, governed] = [make(fetch), make(session.fetch)]
  return { bare: () => loop(bare, execute), protect: () => loop(governed, (id) => session.run(id)) }
}

function aiFace(url: string, names: readonly string[], session: Session): OverheadFace {
  const model = createOpenAI({ apiKey: 'unused', baseURL: `${url}/v1` }).chat('gpt-bench')
  const tools = Object.fromEntries(names.map((name) => [name, tool({ inputSchema: jsonSchema(parameters), execute })]))
  const governed = govern(session, { model, tools })
  const run = (agent: object) => () =>
    generateText({ ...(agent as { model: typeof model }), prompt: PROMPT, stopWhen: stepCountIs(3), maxRetries: 0 })
  return { bare: run({ model, tools }), protect: run(governed) }
}

function langchainFace(url: string, names: readonly string[], session: Session): OverheadFace {
  const model = new ChatOpenAI({ model: 'gpt-bench', apiKey: 'unused', configuration: { baseURL: `${url}/v1` } })
  const tools = names.map((name) =>
    langchainTool(async () => JSON.stringify(await execute()), { name, description: name, schema: parameters }),
  )
  const messages = [{ role: 'user' as const, content: PROMPT }]
  const bare = createAgent({ model, tools })
  const governed = createAgent({ model, tools, middleware: [countersign(session)] })
  return { bare: () => bare.invoke({ messages }), protect: () => governed.invoke({ messages }) }
}

function agentsFace(url: string, names: readonly string[], session: Session): OverheadFace {
  const modelProvider = new OpenAIProvider({ apiKey: 'unused', baseURL: `${url}/v1`, useResponses: false })
  const tools = names.map((name) => agentTool({ name, description: name, strict: false, parameters: strict, execute }))
  const agent = new Agent({ name: 'bench', model: 'gpt-bench', tools })
  const runner = new Runner({ modelProvider, tracingDisabled: true })
  const governed = governAgents(session, agent, { modelProvider })
  return { bare: () => runner.run(agent, PROMPT), protect: () => runner.run(governed, PROMPT) }
}
