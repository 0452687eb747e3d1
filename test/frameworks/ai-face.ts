import type { JsonObject } from '@countersign/protocol'
import * as ai7 from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import * as ai6 from 'ai-6'
import { MockLanguageModelV3 } from 'ai-6/test'
import { z } from 'zod'
import { govern } from '../../packages/sdk/src/adapters/ai/index.js'
import { openSession } from '../../packages/sdk/src/index.js'
import { type Face, type ModelRequest, passedOn, type ScriptedTurn, type Story } from './story.js'

/** What the two versions of the SDK have in common. */
type Sdk = Pick<typeof ai7, 'generateText' | 'streamText' | 'ToolLoopAgent' | 'stepCountIs' | 'APICallError'>

interface Way {
  readonly name: string
  readonly sdk: Sdk
  /** `agent`: by ToolLoopAgent; `text`: by generateText and streamText. */
  readonly by: 'agent' | 'text'
}

export const aiFaces: readonly Face[] = [
  { name: 'ai 7', sdk: ai7, by: 'text' } as const,
  { name: 'ai 7 ToolLoopAgent', sdk: ai7, by: 'agent' } as const,
  { name: 'ai 6', sdk: ai6 as unknown as Sdk, by: 'text' } as const,
  { name: 'ai 6 ToolLoopAgent', sdk: ai6 as unknown as Sdk, by: 'agent' } as const,
].map(faceOf)

function faceOf({ name, sdk, by }: Way): Face {
  return {
    name,
    lacks: {},
    open(story) {
      const session = openSession(story.options)
      const { model, requests } = scripted(story, sdk)
      const tools = Object.fromEntries(
        Object.entries(story.tools).map(([tool, execute]) => [
          tool,
          ai7.tool({ inputSchema: z.looseObject({}), execute: (input) => execute(input as JsonObject, session) }),
        ]),
      )
      const agent = govern(session, { model, tools })
      // The program passes on other arguments than it was given.
      for (const tool of Object.values(agent.tools)) {
        const { execute } = tool
        tool.execute = (input, options) =>
          execute!(passedOn(story, options.toolCallId, input as object) as never, options)
      }
      return { session, run: () => run(sdk, by, story, agent), requests, close: () => session.close() }
    },
  }
}

async function run(
  sdk: Sdk,
  by: Way['by'],
  { stream, log }: Story,
  agent: { model: ai7.LanguageModel; tools: ai7.ToolSet },
) {
  const settings = { ...agent, stopWhen: sdk.stepCountIs(16), maxRetries: 1 }
  const loop = by === 'agent' ? new sdk.ToolLoopAgent(settings) : null
  const prompt = 'go on'
  if (!stream) return loop === null ? sdk.generateText({ ...settings, prompt }) : loop.generate({ prompt })
  const streaming = loop === null ? sdk.streamText({ ...settings, prompt }) : await loop.stream({ prompt })
  for await (const part of streaming.fullStream) {
    if (part.type === 'tool-input-start') log.push(`saw ${part.id}`)
    if (part.type === 'tool-call') log.push(`saw ${part.toolCallId}`)
  }
}

function scripted({ turns }: Story, sdk: Sdk): { model: ai7.LanguageModel & object; requests(): ModelRequest[] } {
  const answers = turns.flatMap((turn) => [...Array.from({ length: turn.failures ?? 0 }, () => null), turn])
  let at = 0
  const next = (): ScriptedTurn => {
    const turn = answers[at++]
    if (turn) return turn
    throw new sdk.APICallError({
      message: 'overloaded',
      url: 'http://model.test',
      requestBodyValues: {},
      statusCode: 503,
      isRetryable: true,
      responseHeaders: { 'retry-after-ms': '1' },
    })
  }
  const Mock = (sdk === ai7 ? MockLanguageModelV4 : MockLanguageModelV3) as typeof MockLanguageModelV4
  const model = new Mock({
    doGenerate: async () => answerOf(next()) as never,
    doStream: async () => {
      const turn = next()
      return {
        stream: new ReadableStream({
          async start(controller) {
            for (const part of streamOf(turn)) controller.enqueue(part as never)
            controller.close()
          },
        }),
      }
    },
  })
  return { model: model as never, requests: () => [...model.doGenerateCalls, ...model.doStreamCalls].map(requestOf) }
}

export const answerOf = (turn: ScriptedTurn): object => ({ content: contentOf(turn), warnings: [], ...endOf(turn) })

const contentOf = ({ text, calls = [] }: ScriptedTurn) => [
  ...(text === undefined ? [] : [{ type: 'text', text }]),
  ...calls.map(({ id, name, args }) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    input: JSON.stringify(args),
  })),
]

const endOf = ({ calls = [] }: ScriptedTurn) => ({
  finishReason: { unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: undefined },
  usage: {
    inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 5, text: 5, reasoning: 0 },
  },
})

const streamOf = (turn: ScriptedTurn): object[] => [
  { type: 'stream-start', warnings: [] },
  ...contentOf(turn).flatMap((part): object[] =>
    'toolCallId' in part
      ? [
          { type: 'tool-input-start', id: part.toolCallId, toolName: part.toolName },
          { type: 'tool-input-delta', id: part.toolCallId, delta: part.input },
          { type: 'tool-input-end', id: part.toolCallId },
          part,
        ]
      : [
          { type: 'text-start', id: 't' },
          { type: 'text-delta', id: 't', delta: part.text },
          { type: 'text-end', id: 't' },
        ],
  ),
  { type: 'finish', ...endOf(turn) },
]

type Sent = InstanceType<typeof MockLanguageModelV4>['doGenerateCalls'][number]

function requestOf({ tools = [], prompt }: Sent): ModelRequest {
  const results = prompt.flatMap((message) =>
    message.role === 'tool' ? message.content.filter((part) => part.type === 'tool-result') : [],
  )
  return {
    offered: tools.map(({ name }) => name),
    results: Object.fromEntries(results.map(({ toolCallId, output }) => [toolCallId, JSON.stringify(output)])),
  }
}
