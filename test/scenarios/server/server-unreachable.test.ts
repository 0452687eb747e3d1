import { beforeAll, describe, expect } from 'vitest'
import {
  ReplayContractError,
  ReplayKillError,
  type ReplayOptions,
  ReplayUnavailableError,
} from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { callNames, calls, results, says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const contracts = [
  { tool: 'look', side_effect: 'read' as const },
  {
    tool: 'pay',
    side_effect: 'write' as const,
    aggregates: [{ name: 'paid', path: '$.amount', function: 'sum' as const, lte: 100 }],
  },
]
const tools = { look: () => ({ found: true }), pay: () => ({ ok: true }) }

/** What can go wrong between client and server. `lost`: the server did it, and its answer never came. */
type Fault = 'none' | 'away' | 'slow' | 'error' | 'garbage' | 'lost' | 'limited'
const FAULTS: readonly Fault[] = ['away', 'slow', 'error', 'garbage', 'limited']

const { agent, runtime } = await withAgentAndRuntime()
beforeAll(async () => {
  await serverAnswers()
})

/**
 * Waits until the server answers as it does when nothing is in its way. A client whose server was away gives it one
 * attempt of two seconds: on a machine under load that would test the machine.
 */
async function serverAnswers(): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const startedAt = performance.now()
    const { status } = await runtime.api().loadSession()
    if (status === 404 && performance.now() - startedAt < 300) return
  }
}

/** Only silence takes as long as the client waits. */
const patience = (fault: Fault): ReplayOptions => (fault === 'slow' ? { timeoutMs: 3_000 } : {})

function faulty() {
  const line = { fault: 'none' as Fault, only: (_path: string): boolean => true, requests: [] as string[] }
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const path = new URL(String(input)).pathname
    line.requests.push(path)
    if (line.fault === 'none' || !line.only(path)) return runtime.fetch(input, init)
    switch (line.fault) {
      case 'away':
        throw new TypeError('fetch failed')
      case 'slow':
        return new Promise(() => {})
      case 'error':
        return Response.json({ type: 'about:blank', title: 'broken', status: 500, code: 'INTERNAL' }, { status: 500 })
      case 'garbage':
        return new Response('<html>proxy</html>', { status: 200 })
      case 'limited':
        return Response.json(
          { type: 'about:blank', title: 'slow down', status: 429, code: 'RATE_LIMITED' },
          { status: 429, headers: { 'retry-after': '3600' } },
        )
      case 'lost':
        line.fault = 'none'
        await runtime.fetch(input, init)
        throw new TypeError('the answer was lost')
    }
  }
  const start = (options: ReplayOptions = {}) =>
    agent.start({ contracts, tools, apiKey: runtime.key, fetch, ...options })
  return { line, start }
}

describe.each(FAULTS)('a server that is %s', (fault) => {
  proves(
    [
      'option.on-error.default',
      'option.on-error.block',
      'state.server-failure.blocks',
      'error.rule.server-failure-blocks',
    ],
    `blocks the call and leaves the state as it was (${fault})`,
    async () => {
      const { line, start } = faulty()
      const { session, ask } = start(patience(fault))
      agent.provider.enqueue(calls(['look', {}, 'c1']))
      const first = await ask(['look'])
      await session.tools?.look?.({})
      const before = session.getState()
      line.fault = fault
      const asked = agent.provider.requests.length
      // Other tools: this turn was not prepared with the receipts.
      await expect(ask(['look', 'pay'], results(first))).rejects.toThrow(ReplayUnavailableError)
      expect(agent.provider.requests.length).toBe(asked)
      expect(session.getState()).toEqual(before)
      // A server that limits has answered.
      expect(session.getHealth()).toMatchObject({
        status: fault === 'limited' ? 'healthy' : 'degraded',
        protectionLevel: 'govern',
        tier: 'strong',
        durability: fault === 'limited' ? 'server' : 'degraded-local',
      })
      await serverAnswers()
      line.fault = 'none'
      agent.provider.enqueue(says('done'))
      await ask(['look'], results(first))
      expect(session.getHealth()).toMatchObject({ status: 'healthy', durability: 'server' })
    },
  )

  // One that limits has answered, so that `onError` does not apply: test/faults/sdk/throttled-sessions.test.ts.
  if (fault === 'limited') return
  proves(
    [
      'option.on-error.allow',
      'state.unreachable.degraded-local',
      'state.unreachable.proceeds-locally',
      'state.unreachable.counts',
      'health.durability.degraded-local',
      'snapshot.total-unguarded-calls',
    ],
    `goes on under local rules and counts (${fault})`,
    async () => {
      const { line, start } = faulty()
      const { session, ask, diagnostics } = start({ onError: 'allow', ...patience(fault) })
      agent.provider.enqueue(calls(['pay', { amount: 60 }, 'c1']))
      const first = await ask(['look', 'pay'])
      await session.tools?.pay?.({ amount: 60 })
      line.fault = fault
      agent.provider.enqueue(calls(['pay', { amount: 41 }]), calls(['pay', { amount: 40 }, 'c2']))
      await expect(ask(['look', 'pay'], results(first))).rejects.toThrow('aggregate_limit_exceeded')
      const second = await ask(['look', 'pay'], results(first))
      expect(callNames(second)).toEqual(['pay'])
      expect(await session.tools?.pay?.({ amount: 40 })).toEqual({ ok: true })
      expect(session.getState()).toMatchObject({ totalUnguardedCalls: 2, stateVersion: 2 })
      expect(session.getHealth()).toMatchObject({
        status: 'degraded',
        protectionLevel: 'protect',
        tier: 'compat',
        durability: 'degraded-local',
      })
      await serverAnswers()
      line.fault = 'none'
      agent.provider.enqueue(says('done'))
      await ask(['look', 'pay'], results(second))
      expect(session.getState()).toMatchObject({ totalUnguardedCalls: 2, stateVersion: 1 })
      expect(session.getHealth()).toMatchObject({ status: 'healthy', tier: 'strong', durability: 'server' })
      expect(diagnostics.map(({ type }) => type)).toEqual(['replay_degraded', 'replay_recovered'])
      expect(diagnostics[0]).toMatchObject({
        detail: expect.stringContaining('from the last known state of the session'),
      })
    },
  )
})

proves(
  [
    'option.max-unguarded-calls.default',
    'option.max-unguarded-calls.kills',
    'state.unguarded.auto-kill',
    'limit.max-unguarded-calls',
  ],
  'the fourth call without the server kills the session, and the server hears of it later',
  async () => {
    const { line, start } = faulty()
    const { session, ask, diagnostics } = start({ onError: 'allow' })
    agent.provider.enqueue(says('1'), says('2'), says('3'), says('4'))
    await ask(['look'])
    line.fault = 'away'
    for (let call = 0; call < 3; call++) await ask(['look'])
    await expect(ask(['look'])).rejects.toThrow(ReplayKillError)
    await expect(ask([])).rejects.toThrow(ReplayKillError)
    expect(session.getHealth()).toMatchObject({ status: 'inactive', authorityState: 'killed', killed: true })
    expect(diagnostics).toContainEqual(expect.objectContaining({ type: 'replay_killed', cause: 'unguarded' }))
    line.fault = 'none'
    const onServer = () => runtime.api().loadSession({ params: { session_id: session.sessionId } })
    await expect.poll(async () => (await onServer()).body.session.status).toBe('KILLED')
  },
)

proves('option.max-unguarded-calls.only-allow', async () => {
  const { line, start } = faulty()
  const { session, ask } = start({ maxUnguardedCalls: 0 })
  line.fault = 'away'
  for (let call = 0; call < 3; call++) await expect(ask(['look'])).rejects.toThrow(ReplayUnavailableError)
  expect(session.getState()).toMatchObject({ killed: false, totalUnguardedCalls: 0 })
})

proves(
  'option.on-error.allow',
  'a session whose server was away from the start is opened once it is back',
  async () => {
    const { line, start } = faulty()
    line.fault = 'away'
    const { session, ask, diagnostics } = start({ onError: 'allow' })
    agent.provider.enqueue(calls(['look', {}, 'c1']), says('done'))
    const first = await ask(['look'])
    expect(diagnostics).toMatchObject([
      { detail: expect.stringContaining('from the state of a new session with unused budgets') },
    ])
    expect(await session.tools?.look?.({})).toEqual({ found: true })
    await serverAnswers()
    line.fault = 'none'
    await ask(['look'], results(first))
    expect(session.getHealth()).toMatchObject({ durability: 'server' })
    expect(session.getState()).toMatchObject({ stateVersion: 0, totalUnguardedCalls: 1 })
  },
)

for (const path of ['sessions', 'preflight', 'proposals', 'receipts']) {
  proves('turn.cycle', `a lost answer of ${path} is recovered without a second effect`, async () => {
    const { line, start } = faulty()
    line.only = (requested) => requested.endsWith(path)
    line.fault = 'lost'
    let ran = 0
    const { session, ask } = start({ tools: { ...tools, pay: () => ++ran } })
    agent.provider.enqueue(calls(['pay', { amount: 60 }, 'c1']), says('done'))
    const first = await ask(['look', 'pay'])
    await session.tools?.pay?.({ amount: 60 })
    await ask(['look', 'pay'], results(first))
    expect(line.fault).toBe('none')
    expect(ran).toBe(1)
    expect(session.getState()).toMatchObject({ stateVersion: 1, toolCallCounts: { pay: 1 } })
    const { body } = await runtime.api().loadSession({ params: { session_id: session.sessionId } })
    expect(body.session.state).toMatchObject({ stateVersion: 1, toolCallCounts: { pay: 1 } })
  })
}

proves('turn.cycle', 'an answer without calls is not held back when the answer about it was lost', async () => {
  const { line, start } = faulty()
  line.only = (path) => path.endsWith('proposals')
  line.fault = 'lost'
  const { session, ask } = start()
  agent.provider.enqueue(says('hello'), says('again'))
  expect((await ask(['look'])).choices[0]?.message.content).toBe('hello')
  await ask(['look'])
  expect(session.getHealth().status).toBe('healthy')
})

proves(
  'turn.cycle',
  'a block whose answer was lost is reported as the block that it is, once, and the model can correct it',
  async () => {
    const { line, start } = faulty()
    line.only = (path) => path.endsWith('proposals')
    line.fault = 'lost'
    const { session, ask } = start({ maxRetries: 1 })
    agent.provider.enqueue(calls(['pay', { amount: 101 }]), calls(['pay', { amount: 100 }]))
    expect(callNames(await ask(['pay']))).toEqual(['pay'])
    await session.tools?.pay?.({ amount: 100 })
    expect(session.getState()).toMatchObject({ stateVersion: 1, totalBlockCount: 1, toolCallCounts: { pay: 1 } })
    const { body } = await runtime.api().loadSession({ params: { session_id: session.sessionId } })
    expect(body.session.state).toMatchObject({ stateVersion: 1, totalBlockCount: 1, toolCallCounts: { pay: 1 } })

    line.fault = 'lost'
    agent.provider.enqueue(calls(['pay', { amount: 1 }, 'c1']), calls(['pay', { amount: 2 }, 'c2']))
    const blocked = await ask(['pay']).catch((error: unknown) => error)
    expect(blocked).toBeInstanceOf(ReplayContractError)
    expect(blocked).not.toBeInstanceOf(ReplayUnavailableError)
    expect(blocked).toMatchObject({ decision: { blocked: [{ reason: 'aggregate_limit_exceeded' }] } })
    expect(session.getHealth().status).toBe('healthy')
  },
)

proves('state.server-failure.blocks', 'a proposal whose answer never comes leaves no call behind', async () => {
  let answers = false
  const { session, ask } = agent.start({
    contracts,
    tools,
    apiKey: runtime.key,
    timeoutMs: 3_000,
    fetch: async (input, init) => {
      const response = await runtime.fetch(input, init)
      if (answers || !String(input).endsWith('proposals')) return response
      return new Promise(() => {})
    },
  })
  agent.provider.enqueue(calls(['pay', { amount: 60 }, 'c1']), calls(['pay', { amount: 60 }, 'c2']))
  await expect(ask(['pay'])).rejects.toThrow(ReplayUnavailableError)
  answers = true
  expect(callNames(await ask(['pay']))).toEqual(['pay'])
  await session.tools?.pay?.({ amount: 60 })
  expect(session.getState()).toMatchObject({ stateVersion: 1, toolCallCounts: { pay: 1 } })
})

proves('turn.cycle', 'a tool that still runs is not reported to the server as one that never did', async () => {
  let answers = false
  let pay: (result: object) => void = () => {}
  const { session, ask } = agent.start({
    contracts,
    tools: { pay: () => new Promise<object>((resolve) => (pay = resolve)) },
    onError: 'allow',
    apiKey: runtime.key,
    fetch: async (input, init) => {
      const response = await runtime.fetch(input, init)
      if (answers || !String(input).endsWith('proposals')) return response
      throw new TypeError('the answer was lost')
    },
  })
  agent.provider.enqueue(calls(['pay', { amount: 60 }, 'c1']), says('a summary'), calls(['pay', { amount: 60 }, 'c2']))
  const first = await ask(['pay'])
  const paying = session.tools?.pay?.({ amount: 60 })
  answers = true
  await ask([])
  pay({ ok: true })
  await paying
  await expect(ask(['pay'], results(first))).rejects.toThrow('aggregate_limit_exceeded')
  const { body } = await runtime.api().exportEvents({ params: { session_id: session.sessionId } })
  const receipts = body.events.flatMap(({ type, body: event }) => (type === 'receipts' ? [event.receipts] : []))
  expect(receipts).toMatchObject([[{ outcome: 'succeeded', evidence_level: 'executed' }]])
})

proves(
  'health.unresolved-receipt-count',
  'a receipt that cannot be delivered waits, and is delivered before the next turn',
  async () => {
    const { line, start } = faulty()
    const { session, ask } = start()
    agent.provider.enqueue(calls(['pay', { amount: 60 }, 'c1']), says('done'))
    const first = await ask(['pay'])
    line.only = (path) => path.endsWith('receipts')
    line.fault = 'away'
    expect(await session.tools?.pay?.({ amount: 60 })).toEqual({ ok: true })
    expect(session.getHealth()).toMatchObject({
      status: 'degraded',
      durability: 'degraded-local',
      unresolvedReceiptCount: 1,
    })
    line.fault = 'none'
    await ask(['pay'], results(first))
    expect(session.getHealth()).toMatchObject({ status: 'healthy', durability: 'server', unresolvedReceiptCount: 0 })
    expect(session.getState().stateVersion).toBe(1)
  },
)
