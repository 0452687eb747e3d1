import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents-core/testing'
import { expect } from 'vitest'
import { z } from 'zod'
import { govern } from '../../packages/sdk/src/adapters/openai-agents/index.js'
import { openSession } from '../../packages/sdk/src/index.js'
import { proves } from '../support/proves.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import { openaiAgentsFaces, SDKS } from './openai-agents-face.js'
import { ledgerLines } from './story.js'
import { tellCases } from './tell-cases.js'

const { runtime } = await withRuntime()

// Versions differ in what their tools tell; the whole table with the older ones is for long rounds.
const isLong = process.env.COUNTERSIGN_TEST_ROUNDS === 'long'
for (const face of isLong ? openaiAgentsFaces : openaiAgentsFaces.slice(0, 1)) {
  tellCases(face, runtime, (...story) => proves('face.openai-agents', ...story))
}

type Troubled = Readonly<Record<string, unknown>>

/** What the ledger says of one call of `look`, and what the model reads of it. */
async function lookWith(
  { Agent, Runner, tool }: (typeof SDKS)[string],
  troubled: Troubled,
): Promise<{ receipt: string | undefined; told: string }> {
  const session = openSession({
    contracts: [{ tool: 'look', side_effect: 'read' }],
    apiKey: runtime.key,
    fetch: runtime.fetch,
    agent: 'frameworks',
  })
  const model = new ScriptedModel([[functionCall('look', {}, { callId: 'c1' })], [assistantMessage('done')]])
  const parameters = { type: 'object', properties: {}, required: [], additionalProperties: true } as const
  const look = tool({
    name: 'look',
    description: 'look',
    strict: false,
    parameters,
    execute: async () => 'seen',
    ...troubled,
  } as never)
  await new Runner().run(govern(session, new Agent({ name: 'frameworks', model, tools: [look] })), 'go on')
  await session.close()
  const { events } = await exportOf(runtime.api(), session.sessionId)
  const receipt = ledgerLines(events).find((line) => line.startsWith('receipt'))
  return { receipt, told: JSON.stringify(model.calls[1]?.request.input) }
}

const broken = async () => {
  throw new Error('no such order')
}

for (const [version, sdk] of Object.entries(SDKS)) {
  proves('face.openai-agents', `${version}: an error that a tool's errorFunction turns into a result`, async () => {
    const errorFunction = (_: unknown, error: unknown) => `sorry: ${(error as Error).message}`
    const { receipt, told } = await lookWith(sdk, { execute: broken, errorFunction })
    expect(receipt).toBe('receipt c1 failed executed')
    expect(told).toContain('sorry: no such order')
    expect((await lookWith(sdk, { errorFunction })).receipt).toBe('receipt c1 succeeded executed')
    // With the function that every tool has.
    expect((await lookWith(sdk, { execute: broken })).receipt).toBe('receipt c1 failed executed')
  })

  proves('face.openai-agents', `${version}: a tool whose arguments do not fit its parameters has failed`, async () => {
    const refused: Troubled = { strict: true, parameters: z.object({ order: z.string() }) }
    const own: Troubled = { errorFunction: () => 'try again' }
    for (const troubled of [refused, { ...refused, ...own }]) {
      expect((await lookWith(sdk, troubled)).receipt).toBe('receipt c1 failed executed')
    }
  })

  proves('face.openai-agents', `${version}: a tool that the SDK gave up is unknown, and the run goes on`, async () => {
    const { receipt, told } = await lookWith(sdk, { execute: () => new Promise<never>(() => {}), timeoutMs: 20 })
    expect(told).toContain('timed out')
    expect(receipt).toBe('receipt c1 unknown executed')
  })
}
