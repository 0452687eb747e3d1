import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  ReplayConfigError,
  ReplayContractError,
  ReplayKillError,
  type ReplayOptions,
  waitForOffer,
} from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { calls } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'
import { PAYMENT_CONTRACTS, PAYMENTS } from '../../support/runtime/workflow.js'

const { agent, runtime } = await withAgentAndRuntime()

const newId = () => `wfl-${randomUUID()}`

function start(workflow: NonNullable<ReplayOptions['workflow']>, more: ReplayOptions = {}) {
  return agent.start({
    contracts: PAYMENT_CONTRACTS,
    apiKey: runtime.key,
    fetch: runtime.fetch,
    tools: { read_document: () => 'text', look_up: () => ({}), pay: () => ({}) },
    workflow,
    ...more,
  })
}

const startRoot = (workflowId: string) => start({ workflowId, role: 'researcher', definition: PAYMENTS })
const wait = { apiKey: '', pollMs: 10 }
const offers = (workflowId: string, timeoutMs: number) =>
  waitForOffer({ ...wait, apiKey: runtime.key, fetch: runtime.fetch, workflowId, role: 'payer', timeoutMs })

test('who waits for an offer is not given that of a session which was stopped', async () => {
  const workflowId = newId()
  const root = startRoot(workflowId)
  await root.session.handoff({ toRole: 'payer', expiresInSeconds: 600 })
  expect(await offers(workflowId, 0)).toMatchObject({ state: 'offered' })
  root.session.kill()
  await root.session.flush()
  expect(await offers(workflowId, 30)).toBeNull()
})

test('waiting for an unknown role, or without a time limit, fails at once', async () => {
  const workflowId = newId()
  await startRoot(workflowId).session.getWorkflowState()
  const asked = { apiKey: runtime.key, fetch: runtime.fetch, workflowId, role: 'payer', timeoutMs: 5_000 }
  await expect(waitForOffer({ ...asked, role: 'payr' })).rejects.toThrow('did you mean "payer"?')
  await expect(waitForOffer({ ...asked, timeoutMs: Number.NaN })).rejects.toThrow('timeoutMs')
  await expect(waitForOffer({ ...asked, runtimeUrl: 'localhost:4319' })).rejects.toThrow('runtimeUrl')
})

proves(
  ['option.workflow', 'session.get-workflow-state', 'session.handoff'],
  'a session opens a workflow, hands work on, and sees it come back; the other waits for the offer and completes it',
  async () => {
    const workflowId = newId()
    const waiting = offers(workflowId, 10_000)
    const root = startRoot(workflowId)
    const offered = await root.session.handoff({
      toRole: 'payer',
      tools: ['pay'],
      note: 'invoice 7',
      expiresInSeconds: 60,
    })
    expect(offered).toMatchObject({ state: 'offered', tools: ['pay'], note: 'invoice 7' })
    expect(await waiting).toEqual(offered)
    const payer = start({ workflowId, role: 'payer', handoffId: offered.handoff_id })
    agent.provider.enqueue(calls(['pay', { invoice: '7' }, 'p1']))
    await payer.ask(['pay', 'look_up'])
    expect(payer.session.getLastNarrowing()?.removed).toMatchObject([{ tool: 'look_up', reason: 'manual_filter' }])
    await payer.session.tools?.pay?.({ invoice: '7' }, { callId: 'p1' })
    const settled = root.session.waitForHandoff(offered.handoff_id, { timeoutMs: 10_000, pollMs: 10 })
    expect(await payer.session.completeHandoff()).toMatchObject({ state: 'completed', labels: ['money_moved'] })
    expect(await settled).toMatchObject({ state: 'completed' })
    const state = await root.session.getWorkflowState()
    expect(state).toMatchObject({ workflow_id: workflowId, status: 'ACTIVE', labels: ['money_moved'] })
    expect(state.sessions.map(({ session_id }) => session_id)).toEqual([
      root.session.sessionId,
      payer.session.sessionId,
    ])
    expect(Object.isFrozen(state.handoffs)).toBe(true)
  },
)

test('labels that came with the work keep a tool from the request, although the payer never added one', async () => {
  const workflowId = newId()
  const root = startRoot(workflowId)
  root.session.addLabel('untrusted_input')
  await root.session.flush()
  const { handoff_id: handoffId } = await root.session.handoff({ toRole: 'payer' })
  const payer = start({ workflowId, role: 'payer', handoffId })
  agent.provider.enqueue(calls(['pay', { invoice: '7' }]))
  await expect(payer.ask(['pay', 'look_up'])).rejects.toThrow(ReplayContractError)
  const sent = agent.provider.requests.at(-1)?.body?.tools as { function: { name: string } }[]
  expect(sent.map((tool) => tool.function.name)).toEqual(['look_up'])
})

test('waiting has a bound: no offer is null, an unsettled handoff is null', async () => {
  const workflowId = newId()
  expect(await offers(workflowId, 50)).toBeNull()
  const root = startRoot(workflowId)
  const { handoff_id: handoffId } = await root.session.handoff({ toRole: 'payer' })
  expect(await root.session.waitForHandoff(handoffId, { timeoutMs: 30, pollMs: 10 })).toBeNull()
  await expect(root.session.waitForHandoff('hnd-other', { timeoutMs: 30 })).rejects.toThrow('has no handoff hnd-other')
})

test('a handoff is reclaimed when it was not taken in time, and not before', async () => {
  const workflowId = newId()
  const root = startRoot(workflowId)
  const { handoff_id: handoffId } = await root.session.handoff({ toRole: 'payer' })
  await expect(root.session.reclaimHandoff(handoffId)).rejects.toThrow('HANDOFF_NOT_ELIGIBLE')
  await runtime.sql`update handoffs set expires_at = clock_timestamp() where handoff_id = ${handoffId}`
  expect((await root.session.reclaimHandoff(handoffId)).state).toBe('reclaimed')
})

test('a killed workflow stops its sessions wherever they run, and ends every wait', async () => {
  const workflowId = newId()
  const root = startRoot(workflowId)
  const { handoff_id: handoffId } = await root.session.handoff({ toRole: 'payer' })
  await runtime.api().killWorkflow({ params: { workflow_id: workflowId }, body: {} })
  await expect(root.session.waitForHandoff(handoffId, { timeoutMs: 5_000, pollMs: 10 })).rejects.toThrow(
    ReplayKillError,
  )
  await expect(offers(workflowId, 5_000)).rejects.toThrow('was killed')
  await expect(root.ask(['look_up'])).rejects.toThrow(ReplayKillError)
  await expect(root.session.handoff({ toRole: 'payer' })).rejects.toThrow(ReplayKillError)
})

const WRONG: readonly [string, ReplayOptions, string][] = [
  ['an id that is none', { workflow: { workflowId: 'a b', role: 'x' } }, 'workflow.workflowId'],
  ['no role', { workflow: { workflowId: 'w', role: '' } }, 'workflow.role'],
  ['a handoff that is none', { workflow: { workflowId: 'w', role: 'x', handoffId: '/' } }, 'workflow.handoffId'],
  [
    'a definition that cannot be used',
    { workflow: { workflowId: 'w', role: 'a', definition: { roles: { a: {} }, handoffs: [{ from: 'a', to: 'b' }] } } },
    'there is no role "b"',
  ],
  [
    'going on without the server',
    { workflow: { workflowId: 'w', role: 'x' }, onError: 'allow' },
    'onError must be block',
  ],
]
test.each(WRONG)('%s is refused at once', (_name, options, message) => {
  const given = { contracts: PAYMENT_CONTRACTS, apiKey: runtime.key, tools: {}, ...options }
  expect(() => agent.start(given)).toThrow(message)
  expect(() => agent.start(given)).toThrow(ReplayConfigError)
})

test('a workflow without a key or tools is refused', () => {
  const workflow = { workflowId: 'w', role: 'x' }
  expect(() => agent.start({ contracts: PAYMENT_CONTRACTS, workflow })).toThrow('needs the options apiKey and tools')
})

test('a definition is read from workflow.yaml, with the session.yaml of the role; faults carry their line', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'workflow-'))
  try {
    const path = join(folder, 'workflow.yaml')
    writeFileSync(join(folder, 'short.yaml'), 'risk_defaults: { read: block }\n')
    writeFileSync(path, 'roles:\n  researcher: { session: short.yaml }\n')
    const { ask } = start({ workflowId: newId(), role: 'researcher', definition: path })
    agent.provider.enqueue(calls(['look_up', { invoice: '7' }]))
    await expect(ask(['look_up'])).rejects.toThrow('risk_gate_blocked')
    writeFileSync(path, 'roles:\n  a: {}\nhandoffs:\n  - { from: a, to: c }\n')
    expect(() => start({ workflowId: 'w', role: 'a', definition: path })).toThrow(/workflow\.yaml:4.*no role "c"/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
