import { expect } from 'vitest'
import { type ReplayOptions, ReplayUnavailableError } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { calls, results, says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

/** 429 is an answer of a server that is there: it is waited out, then thrown, and is no outage. */
const { agent, runtime } = await withAgentAndRuntime()

interface Line {
  state: 'open' | 'limited' | 'away'
  retryAfter: string
  only: (path: string) => boolean
  limited: number
}

function start(options: ReplayOptions = {}) {
  const line: Line = { state: 'open', retryAfter: '3600', only: () => true, limited: 0 }
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const path = new URL(String(input)).pathname
    if (line.state === 'away' && line.only(path)) throw new TypeError('fetch failed')
    if (line.state !== 'limited' || !line.only(path)) return runtime.fetch(input, init)
    line.limited++
    const problem = { type: 'about:blank', title: 'too many requests', status: 429, code: 'RATE_LIMITED' }
    return Response.json(problem, { status: 429, headers: { 'retry-after': line.retryAfter } })
  }
  const contracts = [{ tool: 'look', side_effect: 'read' as const }]
  const tools = { look: () => ({ found: true }) }
  return {
    line,
    ...agent.start({
      contracts,
      tools,
      apiKey: runtime.key,
      fetch,
      onError: 'allow',
      maxUnguardedCalls: 2,
      ...options,
    }),
  }
}

const HEALTHY = { status: 'healthy', durability: 'server', tier: 'strong', killed: false, totalErrors: 0 }

for (const step of ['preflight', 'proposals']) {
  proves(
    ['state.unreachable.counts', 'option.max-unguarded-calls.kills', 'health.durability.server'],
    `turns that are throttled at ${step} throw under onError allow, and never degrade, count or kill`,
    async () => {
      const { line, session, ask } = start()
      agent.provider.enqueue(says('hello'))
      await ask(['look'])
      line.state = 'limited'
      line.only = (path) => path.endsWith(step)
      for (let turn = 0; turn < 6; turn++) {
        agent.provider.enqueue(calls(['look', {}]))
        const failed = ask(['look'])
        await expect(failed).rejects.toThrow(ReplayUnavailableError)
        await expect(failed).rejects.toThrow('429 RATE_LIMITED')
        if (step === 'preflight') agent.provider.take()
      }
      expect(session.getState()).toMatchObject({ killed: false, totalUnguardedCalls: 0 })
      expect(session.getHealth()).toMatchObject(HEALTHY)
      line.state = 'open'
      agent.provider.enqueue(says('again'))
      await ask(['look'])
      const { body } = await runtime.api().loadSession({ params: { session_id: session.sessionId } })
      expect(body.session.status).toBe('ACTIVE')
    },
  )
}

proves('state.unreachable.counts', 'a throttled receipt is sent later and is no outage', async () => {
  const { line, session, ask } = start()
  agent.provider.enqueue(calls(['look', {}, 'c1']))
  const first = await ask(['look'])
  line.state = 'limited'
  line.only = (path) => path.endsWith('receipts')
  await session.tools?.look?.({}, { callId: 'c1' })
  expect(session.getHealth()).toMatchObject({ totalErrors: 0, tier: 'strong', unresolvedReceiptCount: 1 })
  // The next turn cannot go on without it, and says why.
  await expect(ask(['look'], results(first))).rejects.toThrow('429 RATE_LIMITED')
  expect(session.getState().totalUnguardedCalls).toBe(0)
  line.state = 'open'
  agent.provider.enqueue(says('done'))
  await ask(['look'], results(first))
  expect(session.getState()).toMatchObject({ stateVersion: 1 })
})

proves('state.kill.propagates', 'a kill that is throttled is sent until it is taken', async () => {
  const { line, session, ask } = start()
  agent.provider.enqueue(says('hello'))
  await ask(['look'])
  line.state = 'limited'
  line.only = (path) => path.endsWith('kill')
  session.kill()
  await expect.poll(() => line.limited).toBeGreaterThan(0)
  line.state = 'open'
  const status = async () =>
    (await runtime.api().loadSession({ params: { session_id: session.sessionId } })).body.session.status
  await expect.poll(status).toBe('KILLED')
})

proves(
  'state.unreachable.degraded-local',
  'after an outage a throttled server is waited for, not counted against the session',
  async () => {
    const { line, session, ask, diagnostics } = start({ timeoutMs: 5_000 })
    agent.provider.enqueue(says('hello'), says('alone'), says('back'))
    await ask(['look'])
    line.state = 'away'
    await ask(['look'])
    expect(session.getHealth()).toMatchObject({ durability: 'degraded-local' })
    line.state = 'limited'
    line.retryAfter = '0.05'
    const next = ask(['look'])
    await expect.poll(() => line.limited).toBeGreaterThan(2)
    line.state = 'open'
    await next
    expect(session.getState().totalUnguardedCalls).toBe(1)
    expect(session.getHealth()).toMatchObject({ durability: 'server' })
    expect(diagnostics.map(({ type }) => type)).toContain('replay_throttled')
  },
)
