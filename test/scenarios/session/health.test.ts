import { expect } from 'vitest'
import type { HealthSnapshot, ReplayOptions } from '../../../packages/sdk/src/index.js'
import { HEALTH_MEANINGS } from '../../../scripts/reference/health-meanings.js'
import { proves } from '../../support/proves.js'
import { calls, type Started, says } from '../../support/runtime/agent.js'
import { planOf } from '../../support/runtime/plans.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const { agent, runtime } = await withAgentAndRuntime()

const contracts = [{ tool: 'look', side_effect: 'read' as const }]
const tools = { look: () => 'found' }

/** The server of a session that can go away. */
const server = () => {
  const line = { isCut: false }
  const fetch: typeof globalThis.fetch = async (input, init) => {
    if (line.isCut) throw new TypeError('fetch failed')
    return runtime.fetch(input, init)
  }
  return { line, options: { apiKey: runtime.key, fetch, tools } satisfies ReplayOptions }
}

async function sayHello({ ask }: Started): Promise<void> {
  agent.provider.enqueue(says('hello'))
  await ask(['look'])
}

async function withoutServer(options: ReplayOptions): Promise<Started> {
  const { line, options: reached } = server()
  const started = agent.start({ contracts, ...reached, onError: 'allow', ...options })
  await sayHello(started)
  line.isCut = true
  await sayHello(started)
  return started
}

async function governed(then: (started: Started) => unknown): Promise<Started> {
  const started = agent.start({ contracts, ...server().options })
  await sayHello(started)
  await then(started)
  return started
}

const local = async (options: ReplayOptions): Promise<Started> => {
  const started = agent.start({ contracts, ...options })
  await sayHello(started)
  return started
}

/** By an approved plan, as the lookup answers it. */
async function attached(options: ReplayOptions): Promise<Started> {
  const plan = { status: 'approved', ...planOf(contracts), approved: null, draft: null }
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { pathname, searchParams } = new URL(String(input))
    if (pathname !== '/api/v1/governance/plan') return runtime.fetch(input, init)
    return Response.json({ ...Object.fromEntries(searchParams), ...plan })
  }
  const started = agent.start({ apiKey: runtime.key, fetch, ...options })
  await sayHello(started)
  return started
}

type Row = [reach: () => Promise<Started>, health: Partial<HealthSnapshot>]

/** How a session gets there, and what its health then is. */
const CONSTELLATIONS: Record<string, Row> = {
  'judged here': [
    () => local({}),
    {
      ...{ status: 'healthy', authorityState: 'active', protectionLevel: 'protect', durability: 'inactive' },
      ...{ tier: 'compat', compatEnforcement: 'protective', bypass_detected: false, killed: false },
    },
  ],
  'judged here, as advice': [
    () => local({ compatEnforcement: 'advisory' }),
    {
      ...{ authorityState: 'advisory', protectionLevel: 'monitor', durability: 'inactive', tier: 'compat' },
      ...{ compatEnforcement: 'advisory' },
    },
  ],
  'in shadow': [
    () => local({ mode: 'shadow' }),
    { authorityState: 'advisory', protectionLevel: 'monitor', durability: 'inactive', tier: 'compat' },
  ],
  'only logged': [
    () => local({ mode: 'log-only' }),
    { authorityState: 'inactive', protectionLevel: 'monitor', durability: 'inactive', tier: 'compat' },
  ],
  'judged by the server': [
    () => governed(() => {}),
    {
      ...{ status: 'healthy', authorityState: 'active', protectionLevel: 'govern', durability: 'server' },
      ...{ tier: 'strong', compatEnforcement: 'protective', totalErrors: 0, unresolvedReceiptCount: 0 },
    },
  ],
  'without its server': [
    () => withoutServer({}),
    {
      ...{ status: 'degraded', authorityState: 'active', protectionLevel: 'protect', durability: 'degraded-local' },
      ...{ tier: 'compat', compatEnforcement: 'protective', killed: false, totalUnguardedCalls: 1 },
    },
  ],
  'without its server, as advice': [
    () => withoutServer({ compatEnforcement: 'advisory' }),
    {
      ...{ status: 'degraded', authorityState: 'advisory', protectionLevel: 'monitor', durability: 'degraded-local' },
      ...{ compatEnforcement: 'advisory' },
    },
  ],
  'without its server, where that blocks': [
    async () => {
      const { line, options } = server()
      const started = agent.start({ contracts, ...options })
      await sayHello(started)
      line.isCut = true
      await expect(started.ask(['look'])).rejects.toThrow('cannot be reached')
      return started
    },
    {
      ...{ status: 'degraded', authorityState: 'active', protectionLevel: 'govern', durability: 'degraded-local' },
      ...{ tier: 'strong', totalUnguardedCalls: 0 },
    },
  ],
  'whose server was never there': [
    async () => {
      const { line, options } = server()
      line.isCut = true
      const started = agent.start({ contracts, ...options })
      expect(started.session.getHealth().durability).toBe('degraded-local')
      // Nobody has asked for anything: it was tried ahead of the first turn.
      await expect.poll(() => started.session.getHealth().status).toBe('degraded')
      return started
    },
    { status: 'degraded', durability: 'degraded-local', tier: 'strong' },
  ],
  'whose server was away for a while': [
    async () => {
      const { line, options } = server()
      const started = agent.start({ contracts, ...options, onError: 'allow' })
      await sayHello(started)
      line.isCut = true
      await sayHello(started)
      line.isCut = false
      await sayHello(started)
      return started
    },
    { status: 'healthy', durability: 'server', protectionLevel: 'govern', totalUnguardedCalls: 1 },
  ],
  'that watches by a plan of the server': [
    () => attached({ environment: 'development', tools }),
    { status: 'healthy', protectionLevel: 'monitor', durability: 'server', governanceAttachment: 'attached' },
  ],
  'that decides by a plan of the server': [
    () => attached({ environment: 'production' }),
    { status: 'healthy', protectionLevel: 'protect', durability: 'degraded-local', tier: 'compat' },
  ],
  killed: [
    () => governed(({ session }) => session.kill()),
    { status: 'inactive', authorityState: 'killed', killed: true, bypass_detected: false },
  ],
  bypassed: [
    () =>
      governed(({ original }) => {
        agent.provider.enqueue(says('direct'))
        return original.chat.completions.create({ model: 'gpt-4o', messages: [] })
      }),
    { status: 'degraded', authorityState: 'compromised', bypass_detected: true, killed: false },
  ],
  'judged here and bypassed': [
    async () => {
      const started = await local({})
      agent.provider.enqueue(says('direct'))
      await started.original.chat.completions.create({ model: 'gpt-4o', messages: [] })
      return started
    },
    { status: 'degraded', bypass_detected: true, killed: false },
  ],
  'without a plan in production': [
    async () => {
      const started = agent.start({ ...server().options, environment: 'production', agent: 'nobody' })
      await expect(started.ask(['look'])).rejects.toThrow('calls are blocked in production')
      return started
    },
    {
      ...{ status: 'degraded', authorityState: 'inactive', protectionLevel: 'protect', durability: 'server' },
      ...{ tier: 'compat', governanceAttachment: 'no_plan' },
    },
  ],
  'whose plan cannot be looked up': [
    async () => {
      const { line, options } = server()
      line.isCut = true
      const started = agent.start({ ...options, environment: 'production', timeoutMs: 1_000 })
      await expect(started.ask(['look'])).rejects.toThrow('calls are blocked in production')
      return started
    },
    {
      status: 'degraded',
      authorityState: 'inactive',
      durability: 'degraded-local',
      governanceAttachment: 'fetch_failed',
    },
  ],
  'without a plan in development': [
    async () => {
      const started = agent.start({ ...server().options, environment: 'development', agent: 'nobody' })
      await sayHello(started)
      return started
    },
    { status: 'healthy', authorityState: 'inactive', protectionLevel: 'monitor', governanceAttachment: 'no_plan' },
  ],
  'with calls of an earlier holder in doubt': [
    async () => {
      const first = agent.start({ contracts, ...server().options, sessionId: 'ses-in-doubt' })
      agent.provider.enqueue(calls(['look', {}, 'c1']))
      await first.ask(['look'])
      const second = agent.start({ contracts, ...server().options, sessionId: 'ses-in-doubt', takeover: true })
      await expect.poll(() => second.session.getHealth().authorityState).toBe('recovering')
      return second
    },
    { status: 'degraded', authorityState: 'recovering', unresolvedReceiptCount: 1 },
  ],
  restored: [
    () => governed(({ session }) => session.restore()),
    { status: 'inactive', authorityState: 'inactive', killed: false },
  ],
}

/** Proven where the lookup of plans is. */
const REACHED_ELSEWHERE = ['pending', 'artifact_invalid', 'attachment_failed']

proves('health.one-meaning', 'every value of the reference is reached in one of these ways', () => {
  const reached = Object.values(CONSTELLATIONS).flatMap(([, health]) => Object.entries(health))
  for (const [field, values] of Object.entries(HEALTH_MEANINGS)) {
    const found = reached.filter(([name]) => name === field).map(([, value]) => String(value))
    const missing = Object.keys(values).filter((value) => !found.includes(value) && !REACHED_ELSEWHERE.includes(value))
    expect([field, missing]).toEqual([field, []])
  }
})

for (const [where, [reach, health]] of Object.entries(CONSTELLATIONS)) {
  proves(
    [
      'health.no-plan',
      'health.status',
      'health.authority-state',
      'health.protection-level',
      'health.durability',
      'health.durability.server',
      'health.durability.degraded-local',
      'health.durability.inactive',
      'health.tier',
      'health.compat-enforcement',
      'health.bypass-detected',
      'health.killed',
    ],
    `getHealth() of a session ${where}`,
    async () => {
      expect((await reach()).session.getHealth()).toMatchObject(health)
    },
  )
}

proves('health.total-errors', 'what the server fails at is counted, call by call', async () => {
  const { line, options } = server()
  const { session, ask } = agent.start({ contracts, ...options })
  await sayHello({ ask } as Started)
  expect(session.getHealth().totalErrors).toBe(0)
  line.isCut = true
  for (const errors of [1, 2]) {
    await expect(ask(['look'])).rejects.toThrow('cannot be reached')
    expect(session.getHealth().totalErrors).toBeGreaterThanOrEqual(errors)
  }
  const { totalErrors } = session.getHealth()
  line.isCut = false
  await sayHello({ ask } as Started)
  expect(session.getHealth()).toMatchObject({ status: 'healthy', totalErrors })
})

proves(['health.total-steps', 'health.total-blocks'], 'steps and blocks are counted apart', async () => {
  const { session, ask } = agent.start({ contracts, gate: 'strip_blocked', tools })
  for (const [at, tool] of ['look', 'other', 'look', 'other', 'other'].entries()) {
    agent.provider.enqueue(calls([tool, { at }]))
    await ask(['look'])
    if (tool === 'look') await session.tools?.look?.({ at })
  }
  expect(session.getHealth()).toMatchObject({ totalSteps: 2, totalBlocks: 3 })
})

proves('health.total-blocks', 'a session that advises while its server is away makes no block', async () => {
  const { line, options } = server()
  const rules = [{ tool: 'look', side_effect: 'read' as const, argument_value_invariants: [{ path: '$.n', lte: 1 }] }]
  const { session, ask, diagnostics } = agent.start({
    contracts: rules,
    ...options,
    onError: 'allow',
    compatEnforcement: 'advisory',
  })
  await sayHello({ ask } as Started)
  line.isCut = true
  agent.provider.enqueue(calls(['look', { n: 2 }]))
  await ask(['look'])
  expect(diagnostics).toContainEqual(expect.objectContaining({ type: 'replay_advisory_block' }))
  expect([session.getHealth().totalBlocks, session.getState().totalBlockCount]).toEqual([0, 0])
})

proves('health.unguarded-calls', 'when the server is back, what was allowed meanwhile is reported, once', async () => {
  const { line, options } = server()
  const { session, ask, diagnostics } = agent.start({ contracts, ...options, onError: 'allow' })
  const recovered = () => diagnostics.filter(({ type }) => type === 'replay_recovered')
  await sayHello({ ask } as Started)
  for (const allowed of [2, 0, 1]) {
    line.isCut = true
    for (let turn = 0; turn < allowed; turn++) await sayHello({ ask } as Started)
    line.isCut = false
    await sayHello({ ask } as Started)
  }
  expect(recovered()).toMatchObject([
    { detail: expect.stringContaining('lacks 2 turns that were decided without it') },
    { detail: expect.stringContaining('lacks 1 turn that was decided without it') },
  ])
  expect(session.getHealth()).toMatchObject({ status: 'healthy', totalUnguardedCalls: 3 })
})
