import { generateText, stepCountIs, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { expect } from 'vitest'
import { z } from 'zod'
import { govern } from '../../packages/sdk/src/adapters/ai/index.js'
import { openSession } from '../../packages/sdk/src/index.js'
import { proves } from '../support/proves.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import { aiFaces, answerOf } from './ai-face.js'
import { ledgerLines } from './story.js'
import { tellCases } from './tell-cases.js'

const { runtime } = await withRuntime()

for (const face of aiFaces) tellCases(face, runtime, (...story) => proves('face.ai', ...story))

proves('face.ai', 'a tool that the SDK gave up is unknown, and the run goes on', async () => {
  const session = openSession({
    contracts: [{ tool: 'look', side_effect: 'read' }],
    apiKey: runtime.key,
    fetch: runtime.fetch,
    agent: 'frameworks',
  })
  const turns = [{ calls: [{ id: 'c1', name: 'look', args: {} }] }, { text: 'done' }]
  const model = new MockLanguageModelV4({ doGenerate: turns.map(answerOf) as never })
  const look = tool({ inputSchema: z.looseObject({}), execute: (): Promise<string> => new Promise(() => {}) })
  const { text } = await generateText({
    ...govern(session, { model, tools: { look } }),
    prompt: 'go on',
    stopWhen: stepCountIs(2),
    timeout: { toolMs: 20 },
  })
  expect(text).toBe('done')
  await session.close()
  const { events } = await exportOf(runtime.api(), session.sessionId)
  expect(ledgerLines(events)).toContain('receipt c1 unknown executed')
})
