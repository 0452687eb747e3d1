import { AIMessage, createAgent, fakeModel, tool, toolErrorMiddleware } from 'langchain'
import { expect } from 'vitest'
import { countersign } from '../../packages/sdk/src/adapters/langchain/index.js'
import { openSession } from '../../packages/sdk/src/index.js'
import { proves } from '../support/proves.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import { langchainFace } from './langchain-face.js'
import { tellCases } from './tell-cases.js'

const { runtime } = await withRuntime()

tellCases(langchainFace, runtime, (...story) => proves('face.langchain', ...story))

/** The messages of an agent whose only tool throws, as `type: content`. */
async function messagesWith(middleware: (session: ReturnType<typeof openSession>) => object[]): Promise<string[]> {
  const session = openSession({ contracts: [{ tool: 'look', side_effect: 'read' }], apiKey: '', diagnostics: () => {} })
  const model = fakeModel()
    .respond(new AIMessage({ content: '', tool_calls: [{ id: 'c1', name: 'look', args: {}, type: 'tool_call' }] }))
    .respond(new AIMessage('done'))
  const look = tool(
    () => {
      throw new Error('no such order')
    },
    { name: 'look', schema: { type: 'object' } },
  )
  const agent = createAgent({ model, tools: [look], middleware: middleware(session) as never })
  try {
    const run = await agent.invoke({ messages: [{ role: 'user', content: 'go on' }] } as never)
    const { messages } = run as unknown as { messages: AIMessage[] }
    return messages.map(({ type, text }) => `${type}: ${text}`)
  } finally {
    await session.close()
  }
}

proves('face.langchain', 'the model reads what a tool threw, as it does without the middleware', async () => {
  const bare = await messagesWith(() => [])
  expect(bare[2]).toContain('no such order')
  expect(await messagesWith((session) => [countersign(session)])).toEqual(bare)
  const thrown = messagesWith((session) => [countersign(session, { toolErrors: 'throw' })])
  await expect(thrown).rejects.toThrow('no such order')
  const onError = () => 'sorry'
  const handled = await messagesWith((session) => [
    toolErrorMiddleware({ onError }),
    countersign(session, { toolErrors: 'throw' }),
  ])
  expect(handled[2]).toBe('tool: sorry')
})
