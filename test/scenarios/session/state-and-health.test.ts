import cluster from 'node:cluster'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { proves } from '../../support/proves.js'
import { calls, results, says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const contracts = [
  { tool: 'look', side_effect: 'read' as const, transitions: { valid_in_phases: ['open'] }, forbids_after: ['scan'] },
  { tool: 'scan', side_effect: 'read' as const },
  {
    tool: 'close',
    side_effect: 'write' as const,
    preconditions: [{ requires_prior_tool: 'look' }],
    transitions: { valid_in_phases: ['open'], advances_to: 'closed' },
  },
]

let folder: string
let sessionYamlPath: string
const { agent, runtime } = await withAgentAndRuntime()
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-state-'))
  sessionYamlPath = join(folder, 'session.yaml')
  writeFileSync(
    sessionYamlPath,
    [
      'phases: [{ name: open, initial: true }, { name: closed, terminal: true }]',
      'transitions: { open: [closed] }',
      'pricing: { "openai/gpt-4o*": { input: 1000000, output: 0 } }',
      'session_limits: { max_cost_per_session: 100 }',
    ].join('\n'),
  )
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
})

const tools = { look: () => 'found', scan: () => null, close: () => ({ ok: true }) }
const costing = (reply: ReturnType<typeof calls>, input: number) => ({ ...reply, usage: { input, output: 0 } })

for (const level of ['protect', 'govern']) {
  proves(
    [
      'session.get-state',
      'snapshot.started-at',
      'snapshot.state-version',
      'snapshot.current-phase',
      'snapshot.total-step-count',
      'snapshot.total-tool-calls',
      'snapshot.tool-call-counts',
      'snapshot.forbidden-tools',
      'snapshot.satisfied-preconditions',
      'snapshot.last-step',
      'snapshot.last-narrowing',
      'snapshot.total-cost',
      'snapshot.actual-cost',
      'snapshot.actual-cost.limits',
      'snapshot.consecutive-block-count',
      'snapshot.total-block-count',
      'snapshot.principal',
      'snapshot.redacted',
      'narrowed-tool.forbidden-in-state',
      'narrowed-tool.precondition-not-met',
      'narrowed-tool.wrong-phase',
      'narrowed-tool.detail',
    ],
    `getState() shows every step of a session (${level})`,
    async () => {
      const server = level === 'govern' ? { apiKey: runtime.key, fetch: runtime.fetch } : {}
      const { session, ask } = agent.start({
        contracts,
        sessionYamlPath,
        tools,
        principal: { id: 'ann-the-secret' },
        ...server,
      })
      const all = ['look', 'scan', 'close']
      expect(session.getState()).toMatchObject({
        stateVersion: 0,
        currentPhase: 'open',
        totalStepCount: 0,
        lastStep: null,
        lastNarrowing: null,
        killed: false,
        totalUnguardedCalls: 0,
        principal: null,
      })
      expect(Date.parse(session.getState().startedAt)).toBeGreaterThan(Date.now() - 60_000)

      agent.provider.enqueue(costing(calls(['look', { at: 'secret-place' }]), 10))
      const first = await ask(all)
      expect(session.getState().lastNarrowing).toMatchObject({
        allowed: ['look', 'scan'],
        removed: [{ tool: 'close', reason: 'precondition_not_met', detail: expect.any(String) }],
      })
      // What limits counts from the moment that a call is allowed, what opens from its commit.
      expect(session.getState()).toMatchObject({
        stateVersion: 0,
        totalToolCalls: 0,
        forbiddenTools: ['scan'],
        totalCost: 0,
        actualCost: 10,
        lastStep: null,
      })
      const { toolCallCounts, satisfiedPreconditions } = session.getState()
      expect([toolCallCounts, satisfiedPreconditions]).toEqual([{}, {}])
      await session.tools?.look?.({ at: 'secret-place' })
      expect(session.getState()).toMatchObject({
        stateVersion: 1,
        totalStepCount: 1,
        totalToolCalls: 1,
        toolCallCounts: { look: 1 },
        forbiddenTools: ['scan'],
        satisfiedPreconditions: { look: true },
        totalCost: 10,
        actualCost: 10,
        lastStep: { step: 1, phase: 'open', tools: ['look'], cost: 10 },
      })

      agent.provider.enqueue(costing(calls(['scan', {}]), 20))
      await expect(ask(all, results(first))).rejects.toThrow('forbidden_tool')
      expect(session.getState()).toMatchObject({
        totalCost: 10,
        actualCost: 30,
        consecutiveBlockCount: 1,
        totalBlockCount: 1,
        lastNarrowing: { removed: [{ tool: 'scan', reason: 'forbidden_in_state' }] },
      })

      agent.provider.enqueue(costing(calls(['close', {}]), 70))
      const third = await ask(all)
      expect(session.getState()).toMatchObject({ consecutiveBlockCount: 0, totalBlockCount: 1, currentPhase: 'open' })
      await session.tools?.close?.({})
      expect(session.getState()).toMatchObject({
        stateVersion: 2,
        currentPhase: 'closed',
        totalCost: 80,
        actualCost: 100,
      })
      await expect(ask(all, results(third))).rejects.toThrow('session_limit_exceeded')
      const shown = JSON.stringify([session.getState(), session.getHealth(), session.getLastTrace()])
      expect(shown).not.toContain('secret')
    },
  )
}

proves('snapshot.immutable', async () => {
  const { session, ask } = agent.start({ contracts, sessionYamlPath })
  agent.provider.enqueue(says('hello'))
  await ask(['look', 'other'])
  for (const snapshot of [
    session.getState(),
    session.getHealth(),
    session.getLastNarrowing(),
    session.getLastTrace(),
  ]) {
    expectFrozen(snapshot)
  }
  expect(() => Object.assign(session.getState(), { killed: true })).toThrow(TypeError)
  expect(session.getState().killed).toBe(false)
})

function expectFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  expect(Object.isFrozen(value)).toBe(true)
  for (const part of Object.values(value)) expectFrozen(part)
}

proves('snapshot.control-revision', async () => {
  for (const server of [{}, { apiKey: runtime.key, fetch: runtime.fetch, tools }]) {
    const { session, original, ask } = agent.start({ contracts, sessionYamlPath, ...server })
    agent.provider.enqueue(says('hello'))
    await ask(['look'])
    const revisions = [session.getState().controlRevision]
    const note = () => revisions.push(session.getState().controlRevision)
    session.addLabel('a')
    note()
    session.narrow(['look'])
    note()
    if ('apiKey' in server) {
      agent.provider.enqueue(says('direct'))
      await original.chat.completions.create({ model: 'gpt-4o', messages: [] })
      note()
    }
    session.kill()
    note()
    expect(revisions).toEqual(revisions.map((_, index) => (revisions[0] ?? 0) + index))
  }
})

proves(
  [
    'session.get-health',
    'health.status',
    'health.authority-state',
    'health.protection-level',
    'health.durability',
    'health.compat-enforcement',
    'health.total-steps',
    'health.total-blocks',
    'health.total-errors',
  ],
  'getHealth() has every field, and its counts follow the session',
  async () => {
    const { session, ask } = agent.start({
      contracts,
      sessionYamlPath,
      tools,
      apiKey: runtime.key,
      fetch: runtime.fetch,
      onBlock: () => {
        throw new Error('a callback that fails')
      },
    })
    agent.provider.enqueue(calls(['look', {}]), calls(['scan', {}]))
    const first = await ask(['look'])
    await session.tools?.look?.({})
    await ask(['look'], results(first)).catch(() => {})
    expect(session.getHealth()).toEqual({
      status: 'healthy',
      authorityState: 'active',
      protectionLevel: 'govern',
      durability: 'server',
      tier: 'strong',
      compatEnforcement: 'protective',
      cluster_detected: false,
      bypass_detected: false,
      totalSteps: 1,
      totalBlocks: 1,
      totalErrors: 1,
      shadowEvaluations: 0,
      killed: false,
      unresolvedReceiptCount: 0,
      totalUnguardedCalls: 0,
    })
  },
)

proves('health.cluster-detected', () => {
  const isDetected = () => agent.start({ contracts, sessionYamlPath }).session.getHealth().cluster_detected
  expect(isDetected()).toBe(false)
  vi.stubEnv('NODE_APP_INSTANCE', '1')
  expect(isDetected()).toBe(true)
  vi.unstubAllEnvs()
  const { isWorker } = cluster
  Object.assign(cluster, { isWorker: true })
  expect(isDetected()).toBe(true)
  Object.assign(cluster, { isWorker })
  expect(isDetected()).toBe(false)
})
