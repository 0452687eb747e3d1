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
    'ended',
  ])
  expect(await linesOf(joined[0]?.sessionId ?? '')).toEqual([
    'proposed p1 pay allow',
    'receipt p1 succeeded executed',
    'handoff_completed',
    'ended',
  ])
})

proves('face.sub-agents', 'a sub-agent that fails gives its work back all the same', async () => {
  const workflowId = `wfl-${randomUUID()}`
  const open = (workflow: object) =>
    openSession({
      contracts: PAYMENT_CONTRACTS,
      apiKey: runtime.key,
      fetch: runtime.fetch,
      workflow: { workflowId, role: '', ...workflow },
    })
  const root = open({ role: 'researcher', definition: PAYMENTS })
  const delegated = root.delegate(
    { toRole: 'payer' },
    ({ handoff_id, to_role }) => open({ role: to_role, handoffId: handoff_id }),
    async (session) => {
      const turn = await session.prepare({ model: 'm', tools: ['pay', 'read_document'] })
      expect(turn.allowed).toEqual(['pay'])
      await turn.abandon()
      throw new Error('the sub-agent is broken')
    },
  )
  await expect(delegated).rejects.toThrow('the sub-agent is broken')
  const { handoffs, sessions } = await root.getWorkflowState()
  expect(handoffs).toMatchObject([{ from_role: 'researcher', to_role: 'payer', state: 'completed' }])
  expect(sessions.map(({ role }) => role)).toEqual(['researcher', 'payer'])
  await root.close()
})

proves('face.sub-agents', 'an agent that runs inside of a tool of its own session is refused by name', async () => {
  const session = openSession({ contracts: PAYMENT_CONTRACTS, apiKey: '', diagnostics: () => {} })
  session.addTools({ look_up: () => session.prepare({ model: 'm', tools: ['pay'] }) })
  const turn = await session.prepare({ model: 'm', tools: ['look_up'] })
  await turn.propose({ calls: [{ id: 'c1', name: 'look_up', arguments: { invoice: '7' } }] })
  await expect(session.run('c1')).rejects.toThrow('session.delegate')
  await session.close()
})
