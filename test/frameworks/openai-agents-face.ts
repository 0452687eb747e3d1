import type { JsonObject } from '@countersign/protocol'
import * as agents20 from '@openai/agents'
import { assistantMessage, functionCall, modelError, modelStream, ScriptedModel } from '@openai/agents-core/testing'
import * as agents19 from 'agents-0.19'
import { govern } from '../../packages/sdk/src/adapters/openai-agents/index.js'
import { openSession } from '../../packages/sdk/src/index.js'
import { type AgentSession, type Face, type ModelRequest, passedOn, type ScriptedTurn, type Story } from './story.js'

/** What the supported versions of the SDK have in common. */
type Sdk = Pick<typeof agents20, 'Agent' | 'Runner' | 'tool' | 'setTracingDisabled'>
type Agent = agents20.Agent

/** The supported versions, the newest first. */
export const SDKS: Readonly<Record<string, Sdk>> = {
  '@openai/agents 0.20': agents20,
  '@openai/agents 0.19': agents19 as unknown as Sdk,
}
for (const sdk of Object.values(SDKS)) sdk.setTracingDisabled(true)

/** An agent of the OpenAI Agents SDK, run by a runner. */
const faceOf = (name: string, sdk: Sdk): Face => ({
  name,
  lacks: { 'reused-id': 'the SDK refuses an answer that uses an id again' },
  open(story) {
    const session = openSession(story.options)
    const model = scripted(story)
    const agent = govern(session, agentOf(story, model, session, sdk))
    // The program passes on other arguments than it was given.
    const getAllTools = agent.getAllTools.bind(agent)
    agent.getAllTools = async (context) =>
      (await getAllTools(context)).map((made) => {
        if (made.type !== 'function') return made
        const { invoke } = made
        return {
          ...made,
          invoke: (run, input, details) => {
            const args = passedOn(story, details?.toolCall?.callId ?? '', JSON.parse(input))
            return invoke(run, JSON.stringify(args), details)
          },
        }
      })
    return {
      session,
      run: () => run(sdk, agent, story),
      requests: () => model.calls.map(({ request }) => requestOf(request)),
      close: () => session.close(),
    }
  },
})

export const openaiAgentsFaces: readonly Face[] = Object.entries(SDKS).map(([name, sdk]) => faceOf(name, sdk))

export function agentOf(
  { tools }: Pick<Story, 'tools'>,
  model: ScriptedModel,
  session: AgentSession,
  sdk: Sdk = agents20,
): Agent {
  return new sdk.Agent({
    name: 'frameworks',
    model,
    modelSettings: { retry: { maxRetries: 1, policy: () => true, backoff: { initialDelayMs: 1 } } },
    tools: Object.entries(tools).map(([name, execute]) =>
      sdk.tool({
        name,
        description: name,
        strict: false,
        parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
        execute: async (args) => execute(args as JsonObject, session),
      }),
    ),
  })
}

async function run({ Runner }: Sdk, agent: Agent, { stream, log }: Story): Promise<void> {
  const runner = new Runner()
  if (!stream) return void (await runner.run(agent, 'go on', { maxTurns: 16 }))
  const streaming = await runner.run(agent, 'go on', { stream: true, maxTurns: 16 })
  for await (const event of streaming) {
    const shown = JSON.stringify(
      event.type === 'raw_model_stream_event' ? event.data : (event as { item?: unknown }).item,
    )
    for (const [, id] of shown?.matchAll(/"callId":"(c\d)"/g) ?? []) log.push(`saw ${id}`)
  }
  await streaming.completed
}

function scripted({ turns, stream }: Story): ScriptedModel {
  return new ScriptedModel(
    turns.flatMap((turn) => [
      ...Array.from({ length: turn.failures ?? 0 }, () => modelError(new Error('overloaded'))),
      stream ? modelStream(eventsOf(turn)) : outputOf(turn),
    ]),
  )
}

const outputOf = ({ calls = [], text }: ScriptedTurn) => [
  ...calls.map(({ id, name, args }) => functionCall(name, args as Record<string, unknown>, { callId: id })),
  ...(text === undefined ? [] : [assistantMessage(text)]),
]

/** With the provider's own events, which show a call before it is whole. */
const eventsOf = (turn: ScriptedTurn) => [
  { type: 'response_started' as const },
  ...(turn.calls ?? []).map(({ id, name }) => ({
    type: 'model' as const,
    event: { type: 'response.output_item.added', item: { type: 'function_call', callId: id, name } },
  })),
  {
    type: 'response_done' as const,
    response: { id: 'r', usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }, output: outputOf(turn) },
  },
]

type Sent = ScriptedModel['calls'][number]['request']

function requestOf({ tools, input }: Sent): ModelRequest {
  const items = typeof input === 'string' ? [] : input
  const results = items.flatMap((item) =>
    item.type === 'function_call_result' ? [[item.callId, JSON.stringify(item.output)]] : [],
  )
  return { offered: tools.map(({ name }) => name), results: Object.fromEntries(results) }
}
