import { randomUUID } from 'node:crypto'
import { Agent, Runner, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents-core/testing'
import { expect } from 'vitest'
import { govern } from '../../packages/sdk/src/adapters/openai-agents/index.js'
import { openSession } from '../../packages/sdk/src/index.js'
import { proves } from '../support/proves.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import { PAYMENT_CONTRACTS, PAYMENTS } from '../support/runtime/workflow.js'
import { ledgerLines } from './story.js'

const { runtime } = await withRuntime()

proves('face.handoffs', async () => {
  const workflowId = `wfl-${randomUUID()}`
  const join = (workflow: object) =>
    openSession({
      contracts: PAYMENT_CONTRACTS,
      apiKey: runtime.key,
      fetch: runtime.fetch,
      workflow: { workflowId, role: '', ...workflow },
    })
  const ran: string[] = []
  const make = (name: string) =>
    tool({
      name,
      description: name,
      strict: false,
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
      execute: async () => {
        ran.push(name)
        return { done: name }
      },
    })
  const payer = new Agent({
    name: 'payer',
    model: new ScriptedModel([
      [functionCall('pay', { invoice: '7' }, { callId: 'p1' })],
      [functionCall('transfer_to_researcher', {}, { callId: 'p2' })],
    ]),
    tools: [make('pay')],
  })
  const researcher = new Agent({
    name: 'researcher',
    model: new ScriptedModel([
      [functionCall('look_up', { invoice: '8' }, { callId: 'r1' })],
      [functionCall('transfer_to_payer', {}, { callId: 'r2' })],
      [assistantMessage('done')],
    ]),
    tools: [make('look_up')],
    handoffs: [payer],
  })
  payer.handoffs = [researcher]
  const root = join({ role: 'researcher', definition: PAYMENTS })
  const joined: ReturnType<typeof join>[] = []
  const agent = govern(root, researcher, {
    onHandoff: ({ role, handoffId }) => {
      const session = join({ role, handoffId })
      joined.push(session)
      return session
    },
  })
  const { finalOutput } = await new Runner().run(agent, 'pay invoice 7')
  expect(finalOutput).toBe('done')
  expect(ran).toEqual(['look_up', 'pay'])
  const workflow = await root.getWorkflowState()
  expect(workflow.handoffs).toMatchObject([{ from_role: 'researcher', to_role: 'payer', state: 'completed' }])
  expect(workflow.sessions.map(({ role }) => role)).toEqual(['researcher', 'payer'])
  for (const session of [...joined, root]) await session.close()
  const linesOf = async (id: string) => ledgerLines((await exportOf(runtime.api(), id)).events)
  expect(await linesOf(root.sessionId)).toEqual([
    'proposed r1 look_up allow',
    'receipt r1 succeeded executed',
    'handoff_offered',
    'handoff_accepted',
    'handoff_completed',
  ])
  expect(await linesOf(joined[0]?.sessionId ?? '')).toEqual([
    'proposed p1 pay allow',
    'receipt p1 succeeded executed',
    'handoff_completed',
  ])
})
