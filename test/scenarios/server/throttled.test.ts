import { expect, test } from 'vitest'
import { consoleText } from '../../../packages/sdk/src/base/warn-on-console.js'
import type { Diagnostic, ReplayOptions } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { calls } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const { agent, runtime } = await withAgentAndRuntime()

/** A service whose tenant has asked for too much with every first request of a kind. */
function throttledFetch(): typeof fetch {
  const asked = new Set<string>()
  return async (input, init) => {
    const path = new URL(String(input)).pathname.split('/').at(-1) ?? ''
    if (asked.has(path)) return runtime.fetch(input, init)
    asked.add(path)
    const problem = { type: 'about:blank', title: 'slow down', status: 429, code: 'RATE_LIMITED' }
    return Response.json(problem, { status: 429, headers: { 'retry-after': '0.02' } })
  }
}

const start = (sessionId: string, options: ReplayOptions = {}) => {
  agent.provider.enqueue(calls(['look', {}, 'c1']))
  return agent.start({
    apiKey: runtime.key,
    sessionId,
    fetch: throttledFetch(),
    contracts: [{ tool: 'look', side_effect: 'read' }],
    tools: { look: () => ({ found: true }) },
    ...options,
  })
}

test('a program that waits for its quota gets a diagnostic, and goes on', async () => {
  const reported: Diagnostic[] = []
  const { ask, session } = start('waits', { diagnostics: (event) => reported.push(event) })
  await ask(['look'])
  expect(await session.tools?.look?.({}, { callId: 'c1' })).toEqual({ found: true })
  const throttled = reported.filter(({ type }) => type === 'replay_throttled')
  expect(throttled.length).toBeGreaterThanOrEqual(3)
  expect(throttled[0]).toMatchObject({ session_id: 'waits', wait_ms: 20, detail: expect.stringContaining('quota') })
  expect(reported.map(({ type }) => type)).not.toContain('replay_degraded')
})

test('without a callback the console says it in the same words each time, so once', () => {
  const [first, second] = [20, 3_000].map((wait_ms) =>
    consoleText({ type: 'replay_throttled', session_id: `s-${wait_ms}`, wait_ms, detail: 'the quota is used up' }),
  )
  expect([first, second]).toEqual(['the quota is used up', 'the quota is used up'])
})

proves('quota.default-carries-agents', async () => {
  const tenant = await runtime.createTenant({ quota: 'team' })
  const sessions = Array.from({ length: 20 }, () => {
    const diagnostics: Diagnostic[] = []
    const started = agent.start({
      apiKey: tenant.key,
      timeoutMs: 60_000,
      fetch: runtime.fetch,
      contracts: [{ tool: 'look', side_effect: 'read' }],
      tools: { look: () => ({ found: true }) },
      diagnostics: (event) => diagnostics.push(event),
    })
    return { ...started, diagnostics }
  })
  const turns = await Promise.all(
    sessions.map(async ({ session, ask }) => {
      for (let turn = 0; turn < 3; turn += 1) {
        agent.provider.enqueue(calls(['look', {}, 'c1']))
        await ask(['look'])
        await session.tools?.look?.({}, { callId: 'c1' })
      }
      await session.restore()
      return session.getState().stateVersion
    }),
  )
  expect(turns).toEqual(Array(20).fill(3))
  const reported = sessions.flatMap(({ diagnostics }) => diagnostics.map(({ type }) => type))
  expect(reported).not.toContain('replay_degraded')
  expect(reported).not.toContain('replay_throttled')
})

const versionOf = async (session_id: string, key = runtime.key): Promise<number> =>
  (await runtime.api(key).loadSession({ params: { session_id } })).body.session.state_version

proves(
  'limit.receipts-wait',
  'of an agent on the quota free whose 30 POSTs are used up, every receipt is recorded',
  async () => {
    const tenant = await runtime.createTenant({ quota: 'free' })
    const options = { apiKey: tenant.key, sessionId: 'on-free', fetch: runtime.fetch }
    const { ask, session, diagnostics } = start('on-free', options)
    await ask(['look'])
    const left = await runtime.sql`select tokens from buckets where owner = ${tenant.tenantId} and bucket = 'write'`
    // Of 30, for the session, once more with its plan, a preflight and a proposal.
    expect(Math.floor(left[0]?.tokens)).toBe(26)
    await runtime.sql`update buckets set tokens = 0, refilled_at = clock_timestamp() where owner = ${tenant.tenantId}`
    await session.tools?.look?.({}, { callId: 'c1' })
    await session.flush()
    expect(await versionOf('on-free', tenant.key)).toBe(1)
    expect(diagnostics.map(({ type }) => type)).toContain('replay_throttled')
    expect(diagnostics.map(({ type }) => type)).not.toContain('replay_degraded')
  },
)

proves(
  'limit.receipts-wait',
  'also where the wait is longer than one exchange may take, and the session ends meanwhile',
  async () => {
    let refused = 0
    const busy: typeof fetch = async (input, init) => {
      if (!String(input).endsWith('/receipts') || ++refused > 4) return runtime.fetch(input, init)
      const problem = { type: 'about:blank', title: 'slow down', status: 429, code: 'RATE_LIMITED' }
      return Response.json(problem, { status: 429, headers: { 'retry-after': '30' } })
    }
    const { ask, session } = start('ends', { fetch: busy })
    await ask(['look'])
    await session.tools?.look?.({}, { callId: 'c1' })
    await session.flush()
    expect(session.getHealth()).toMatchObject({ unresolvedReceiptCount: 1 })
    await session.restore()
    expect(await versionOf('ends')).toBe(1)
  },
)

proves(
  'limit.receipts-wait',
  'but not for a quota of bytes, which takes hours: then the session says what was kept back',
  async () => {
    const busy: typeof fetch = async (input, init) => {
      if (!String(input).endsWith('/receipts')) return runtime.fetch(input, init)
      const problem = { type: 'about:blank', title: 'slow down', status: 429, code: 'RATE_LIMITED' }
      return Response.json(problem, { status: 429, headers: { 'retry-after': '7200' } })
    }
    const { ask, session, diagnostics } = start('gives-up', { fetch: busy })
    await ask(['look'])
    await session.tools?.look?.({}, { callId: 'c1' })
    const started = performance.now()
    await session.restore()
    expect(performance.now() - started).toBeLessThan(5_000)
    expect(diagnostics).toContainEqual(
      expect.objectContaining({ detail: expect.stringContaining('ends with 1 receipt that the quota kept back') }),
    )
  },
)
