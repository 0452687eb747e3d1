import { expect, vi } from 'vitest'
import {
  type Diagnostic,
  ReplayContractError,
  type ReplayOptions,
  type ToolContext,
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
    execution_constraints: { arguments: [{ path: '$.amount', lte: 90 }] },
    timeouts: { total_ms: 300 },
  },
]

const { agent, runtime } = await withAgentAndRuntime()

type Tools = NonNullable<ReplayOptions['tools']>
const withTools = (tools: Tools, options: ReplayOptions = {}) =>
  agent.start({ contracts, tools, apiKey: runtime.key, fetch: runtime.fetch, ...options })
const stateOf = async (sessionId: string) =>
  (await runtime.api().loadSession({ params: { session_id: sessionId } })).body.session.state
const receiptsOf = async (sessionId: string) => {
  const { body } = await runtime.api().exportEvents({ params: { session_id: sessionId } })
  return body.events.filter(({ type }) => type === 'receipts').flatMap(({ body: event }) => event.receipts as object[])
}

proves(
  ['session.tools', 'option.tools'],
  'a tool gets the allowed arguments, its call id, a stable key and a signal',
  async () => {
    const got: [unknown, ToolContext][] = []
    const { session, ask } = withTools({
      look: (args, context) => {
        got.push([args, context])
        return { found: true }
      },
      pay: () => null,
    })
    agent.provider.enqueue(calls(['look', { at: 'x' }, 'c1'], ['look', { at: 'x' }, 'c2']), says('done'))
    const first = await ask(['look'])
    const args = { at: 'x' }
    expect(await session.tools?.look?.(args)).toEqual({ found: true })
    await session.tools?.look?.(args, { callId: 'c2' })
    expect(got.map(([given, { callId }]) => [given, callId])).toEqual([
      [{ at: 'x' }, 'c1'],
      [{ at: 'x' }, 'c2'],
    ])
    const [one, two] = got.map(([, { idempotencyKey }]) => idempotencyKey)
    expect(one).toMatch(/^[0-9a-f]{64}$/)
    expect(one).not.toBe(two)
    expect(got[0]?.[1].signal).toBeInstanceOf(AbortSignal)
    await ask(['look'], results(first))
    expect(await receiptsOf(session.sessionId)).toMatchObject([
      { outcome: 'succeeded', evidence_level: 'executed', at_level: true, late: false },
      { outcome: 'succeeded', evidence_level: 'executed', at_level: true, late: false },
    ])
  },
)

proves('session.tools.absent', () => {
  const { session } = agent.start({ contracts: { tool: 'look', side_effect: 'read' } })
  expect(session.tools).toBeUndefined()
})

proves(
  ['session.tools', 'guarantee.runs-once'],
  'nothing runs without an allowed call, with other arguments, or twice',
  async () => {
    let ran = 0
    const { session, ask } = withTools({ look: () => ++ran, pay: () => null })
    await expect(session.tools?.look?.({})).rejects.toThrow(ReplayContractError)
    agent.provider.enqueue(calls(['look', { at: 'x' }, 'c1']))
    await ask(['look'])
    await expect(session.tools?.look?.({ at: 'x' }, { callId: 'c9' })).rejects.toThrow('look did not run')
    await Promise.allSettled([session.tools?.look?.({ at: 'x' }), session.tools?.look?.({ at: 'x' })])
    await expect(session.tools?.look?.({ at: 'x' })).rejects.toThrow('look did not run')
    agent.provider.enqueue(calls(['look', { at: 'x' }, 'c2']))
    await ask(['look'])
    await expect(session.tools?.look?.({ at: 'y' })).rejects.toThrow('look did not run')
    expect(ran).toBe(1)
  },
)

proves(
  ['block.execution-constraint-violated', 'contract.execution-constraints'],
  'the check before execution stops an allowed call and gives its budget back',
  async () => {
    let ran = 0
    const { session, ask } = withTools({ look: () => null, pay: () => ++ran })
    agent.provider.enqueue(calls(['pay', { amount: 95 }]), calls(['pay', { amount: 90 }]))
    const first = await ask(['pay'])
    await expect(session.tools?.pay?.({ amount: 95 })).rejects.toMatchObject({
      decision: { blocked: [{ reason: 'execution_constraint_violated' }] },
      failures: [{ operator: 'lte', expected: 90, found: 95 }],
    })
    expect(ran).toBe(0)
    expect(callNames(await ask(['pay'], results(first)))).toEqual(['pay'])
  },
)

proves('turn.cycle', 'the receipt says what a tool did: failed, unknown after a timeout, not executed', async () => {
  const failing = withTools({
    look: () => {
      throw Object.assign(new Error('no such place'), { code: 'NOT_THERE' })
    },
    pay: (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  const { session, ask } = failing
  agent.provider.enqueue(
    calls(['look', {}, 'c1']),
    calls(['pay', { amount: 60 }, 'c2']),
    calls(['pay', { amount: 40 }, 'c3']),
    says('done'),
  )
  const first = await ask(['look', 'pay'])
  await expect(session.tools?.look?.({})).rejects.toThrow('no such place')
  const second = await ask(['look', 'pay'], results(first))
  await expect(session.tools?.pay?.({ amount: 60 })).rejects.toThrow('unknown')
  const third = await ask(['look', 'pay'], results(second))
  expect(callNames(third)).toEqual(['pay'])
  await ask(['look', 'pay'])
  expect(await receiptsOf(session.sessionId)).toMatchObject([
    { outcome: 'failed', evidence_level: 'executed' },
    { outcome: 'unknown', evidence_level: 'executed' },
    { outcome: 'not_executed', evidence_level: 'reported' },
  ])
  expect(await stateOf(session.sessionId)).toMatchObject({ stateVersion: 0 })
})

proves('turn.cycle', 'tools without a wrapper resolve by their results among the messages, as reported', async () => {
  const { session, ask } = withTools({ pay: () => null })
  agent.provider.enqueue(calls(['look', {}, 'c1']), calls(['look', {}, 'c2']), says('done'))
  const first = await ask(['look'])
  await ask(['look'], results(first))
  await ask(['look'])
  expect(await receiptsOf(session.sessionId)).toMatchObject([
    { outcome: 'succeeded', evidence_level: 'reported', at_level: true },
    { outcome: 'unknown', evidence_level: 'reported' },
  ])
  expect(await stateOf(session.sessionId)).toMatchObject({ stateVersion: 1 })
})

proves('turn.cycle', 'the result of an earlier call with the same id does not stand for the new one', async () => {
  const { session, ask } = withTools({ pay: () => null })
  const again = () => calls(['look', {}, 'look:0'])
  agent.provider.enqueue(again(), again(), again(), says('done'))
  const first = results(await ask(['look']))
  const second = results(await ask(['look'], first))
  // The program never ran the second, or never reported it; the third it did.
  await ask(['look'], first)
  await ask(['look'], [...first, ...second])
  expect(await receiptsOf(session.sessionId)).toMatchObject([
    { outcome: 'succeeded', at_level: true },
    { outcome: 'unknown', at_level: false },
    { outcome: 'succeeded', at_level: true },
  ])
})

proves('turn.cycle', 'the next turn waits for tools that still run', async () => {
  let finish = (): void => {}
  const { session, ask } = withTools({
    look: () =>
      new Promise((resolve) => {
        finish = () => resolve({ found: true })
      }),
    pay: () => null,
  })
  agent.provider.enqueue(calls(['look', {}, 'c1']), says('done'))
  const first = await ask(['look'])
  const running = session.tools?.look?.({})
  const asked = agent.provider.requests.length
  const next = ask(['look'], results(first))
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(agent.provider.requests.length).toBe(asked)
  finish()
  await running
  await next
  expect(session.getState().stateVersion).toBe(1)
})

proves(
  'turn.cycle',
  'a turn inside a tool of the same session is refused at once; one without tools is not',
  async () => {
    const seen: unknown[] = []
    const { session, ask } = withTools({
      look: async () => {
        seen.push(await ask(['look']).catch((error: Error) => error.message))
        seen.push((await ask([])).choices[0]?.message.content)
        return null
      },
      pay: () => null,
    })
    agent.provider.enqueue(calls(['look', {}]), says('a title'))
    await ask(['look'])
    await session.tools?.look?.({})
    expect(seen).toEqual([expect.stringContaining('a wrapped tool made a model call'), 'a title'])
  },
)

proves('turn.cycle', 'turns with tools wait for one another; a turn without tools passes them', async () => {
  const { ask } = withTools({ look: () => null, pay: () => null })
  let answerSlow = (): void => {}
  const isTime = new Promise<void>((resolve) => (answerSlow = resolve))
  agent.provider.enqueue({ ...says('slow'), after: isTime }, says('one'), says('two'))
  const order: string[] = []
  const note = (name: string) => (): void => void order.push(name)
  const slow = ask(['look']).then(note('slow'))
  const queued = ask(['look']).then(note('queued'))
  await expect.poll(() => agent.provider.requests.at(-1)?.body?.tools).toHaveLength(1)
  await ask([]).then(note('beside'))
  answerSlow()
  await Promise.all([slow, queued])
  expect(order).toEqual(['beside', 'slow', 'queued'])
})

proves('turn.cycle', 'two loops on one session take turns, tools included', async () => {
  const ran: unknown[] = []
  const { session, ask } = withTools({ look: (args) => ran.push(args), pay: () => null })
  agent.provider.enqueue(calls(['look', { n: 1 }]), calls(['look', { n: 2 }]))
  const loop = async () => {
    const [call] = (await ask(['look'])).choices[0]?.message.tool_calls ?? []
    if (call?.type !== 'function') throw new Error('the model made no call')
    await session.tools?.look?.(call.function.arguments, { callId: call.id })
  }
  await Promise.all([loop(), loop()])
  expect(ran).toEqual([{ n: 1 }, { n: 2 }])
  expect(session.getState()).toMatchObject({ stateVersion: 2, toolCallCounts: { look: 2 } })
})

const CLOCKS: [string, { now(): number }][] = [
  ['the program went on', performance],
  ['the machine slept', Date],
]
for (const [why, clock] of CLOCKS) {
  proves('turn.cycle', `a decision from five seconds ago is confirmed before the tool runs: ${why}`, async () => {
    let ran = 0
    const { session, ask } = withTools({ look: () => ++ran, pay: () => null })
    agent.provider.enqueue(calls(['look', {}]))
    await ask(['look'])
    await runtime.api().killSession({ params: { session_id: session.sessionId }, body: {} })
    const real = clock.now.bind(clock)
    const later = vi.spyOn(clock, 'now').mockImplementation(() => real() + 5_001)
    try {
      await expect(session.tools?.look?.({})).rejects.toMatchObject({ decision: { blocked: [{ reason: 'killed' }] } })
    } finally {
      later.mockRestore()
    }
    expect(ran).toBe(0)
  })
}

/** A request whose answer the program reads only five seconds later, and what happens on the server meanwhile. */
const SLOW_ANSWERS: [string, RegExp, number][] = [
  ['to the proposal', /\/proposals$/, 0],
  ['to the question whether it may still run', /include=pending$/, 5_001],
]
for (const [what, slow, waitedMs] of SLOW_ANSWERS) {
  proves(
    'guarantee.processes.fresh-word',
    `a kill while the answer ${what} was on its way stops the tool`,
    async () => {
      let ran = 0
      let clockMs = 0
      const real = Date.now.bind(Date)
      const clock = vi.spyOn(Date, 'now').mockImplementation(() => real() + clockMs)
      const { session, ask } = withTools(
        { look: () => ++ran, pay: () => null },
        {
          async fetch(input, init) {
            const reply = await runtime.fetch(input, init)
            if (slow.test(String(input)) && clockMs === waitedMs) {
              await runtime.api().killSession({ params: { session_id: session.sessionId }, body: {} })
              clockMs += 5_001
            }
            return reply
          },
        },
      )
      agent.provider.enqueue(calls(['look', {}]))
      try {
        await ask(['look'])
        clockMs = Math.max(clockMs, waitedMs)
        await expect(session.tools?.look?.({})).rejects.toMatchObject({ decision: { blocked: [{ reason: 'killed' }] } })
      } finally {
        clock.mockRestore()
      }
      expect(ran).toBe(0)
    },
  )
}

proves(
  'guarantee.processes.fresh-word',
  'a server whose every answer takes longer than that starts no tool, and the call can be tried again',
  async () => {
    let clockMs = 0
    let isSlow = true
    const real = Date.now.bind(Date)
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => real() + clockMs)
    const { session, ask } = withTools(
      { look: () => 'seen', pay: () => null },
      {
        async fetch(input, init) {
          const reply = await runtime.fetch(input, init)
          if (isSlow && String(input).endsWith('include=pending')) clockMs += 5_001
          return reply
        },
      },
    )
    agent.provider.enqueue(calls(['look', {}]))
    try {
      await ask(['look'])
      clockMs = 5_001
      await expect(session.tools?.look?.({})).rejects.toThrow('took longer than 5 s to confirm')
      isSlow = false
      expect(await session.tools?.look?.({})).toBe('seen')
    } finally {
      clock.mockRestore()
    }
  },
)

for (const stop of ['compromised', 'taken over'] as const) {
  proves(
    'guarantee.processes.known-stop',
    `no second call of an answer starts once the first brought: ${stop}`,
    async () => {
      const ran: unknown[] = []
      const tools = { look: ({ at }: { at: number }) => ran.push(at), pay: () => null }
      const { session, ask } = withTools(tools)
      const { sessionId } = session
      agent.provider.enqueue(calls(['look', { at: 1 }, 'c1'], ['look', { at: 2 }, 'c2']))
      await ask(['look'])
      if (stop === 'compromised') {
        await runtime.api().reportBypass({ params: { session_id: sessionId }, body: { method: 'm' } })
      } else {
        agent.provider.enqueue(says('hello'))
        await withTools(tools, { sessionId, takeover: true }).ask(['look'])
      }
      await session.tools?.look?.({ at: 1 })
      await session.flush()
      await expect(session.tools?.look?.({ at: 2 })).rejects.toThrow(
        stop === 'compromised' ? 'the session is compromised' : 'another holder has recovered this session',
      )
      expect(ran).toEqual([1])
    },
  )
}

proves('session.other-contracts', 'the next turn of the holder is as ever', async () => {
  const tools = { look: () => null, pay: () => null }
  const { session, ask } = withTools(tools)
  agent.provider.enqueue(says('hello'), says('again'))
  await ask(['look'])
  const { sessionId } = session
  const other = withTools(tools, { sessionId, takeover: true, contracts: contracts.slice(0, 1) })
  await expect(other.ask(['look'])).rejects.toThrow('was created with different contracts')
  await ask(['look'])
})

proves(
  ['health.unresolved-receipt-count', 'health.authority-state', 'option.on-in-doubt.arguments'],
  'calls that a lost holder left behind are asked about, and the session goes on',
  async () => {
    const sessionId = `ses-${Date.now()}`
    const lost = withTools({ look: () => null, pay: () => null }, { sessionId })
    agent.provider.enqueue(calls(['look', {}, 'c1'], ['pay', { amount: 1 }, 'c2']), says('done'))
    await lost.ask(['look', 'pay'])
    // The holder is gone without a word; another process takes the session over.
    const asked: unknown[] = []
    const { session, ask } = withTools(
      { look: () => null, pay: () => null },
      {
        sessionId,
        takeover: true,
        onInDoubt: (call) => {
          asked.push([call.toolName, call.arguments, call.idempotencyKey.length])
          return call.toolName === 'look' ? 'succeeded' : 'not_executed'
        },
      },
    )
    await expect
      .poll(() => session.getHealth())
      .toMatchObject({ authorityState: 'recovering', unresolvedReceiptCount: 2 })
    await ask(['look'])
    expect(asked.sort()).toEqual([
      ['look', {}, 64],
      ['pay', { amount: 1 }, 64],
    ])
    expect(session.getHealth()).toMatchObject({ authorityState: 'active', unresolvedReceiptCount: 0 })
    expect(session.getState()).toMatchObject({ stateVersion: 1, toolCallCounts: { look: 1 } })
    expect(await stateOf(sessionId)).toMatchObject({ stateVersion: 1 })
  },
)

proves('health.unresolved-receipt-count', 'a call in doubt is asked about once, however many turns wait', async () => {
  const sessionId = `ses-doubt-${Date.now()}`
  const lost = withTools({ look: () => null, pay: () => null }, { sessionId })
  agent.provider.enqueue(calls(['pay', { amount: 1 }, 'c1']))
  await lost.ask(['pay'])
  const outcomes = ['succeeded', 'failed', 'not_executed'] as const
  let asked = 0
  const onInDoubt = async () => {
    await new Promise((done) => setTimeout(done, 20))
    return outcomes[asked++] ?? 'unknown'
  }
  const { ask } = withTools({ look: () => null, pay: () => null }, { sessionId, takeover: true, onInDoubt })
  agent.provider.enqueue(says('one'), says('two'), says('three'))
  await Promise.all([ask(['look']), ask([]), ask([])])
  expect(asked).toBe(1)
  expect(await receiptsOf(sessionId)).toMatchObject([{ outcome: 'succeeded' }])
})

proves('session.tools', 'a custom tool runs with the text that the model wrote, also where that is JSON', async () => {
  const got: unknown[] = []
  const { session, ask } = agent.start({
    contracts: { tool: 'query', side_effect: 'read' },
    tools: { query: (input) => got.push(input) },
  })
  const inputs = ['select 1', '{"find":{"id":1}}']
  const toolCalls = inputs.map((input, at) => ({ id: `c${at}`, type: 'custom', custom: { name: 'query', input } }))
  const message = { role: 'assistant', content: null, tool_calls: toolCalls }
  agent.provider.enqueue({
    response: { id: 'chatcmpl-c', model: 'gpt-4o', choices: [{ index: 0, finish_reason: 'tool_calls', message }] },
  })
  await ask(['query'])
  for (const input of inputs) await session.tools?.query?.(input)
  expect(got).toEqual(inputs)
  await expect(session.tools?.query?.('{"find":{}}')).rejects.toThrow('did not run')
})

proves('turn.receipt.unhashable', 'a result that JSON cannot write still commits, and is marked', async () => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  for (const result of [circular, Symbol('s'), () => 1]) {
    const { session, ask } = withTools({ look: () => result, pay: () => null })
    agent.provider.enqueue(calls(['look', {}, 'c1']))
    await ask(['look'])
    expect(await session.tools?.look?.({}, { callId: 'c1' })).toBe(result)
    expect(await stateOf(session.sessionId)).toMatchObject({ stateVersion: 1, toolCallCounts: { look: 1 } })
    expect(await receiptsOf(session.sessionId)).toMatchObject([
      { outcome: 'succeeded', at_level: true, result_hash: null, result_unhashable: true },
    ])
  }
})

proves(
  ['state.hanging-tool.reported', 'state.restore.bounded'],
  'a turn that waits for a tool says which one, and restore() does not wait for ever',
  async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const { session, ask, diagnostics } = agent.start({
        contracts,
        tools: { look: () => new Promise(() => {}), pay: () => null },
      })
      agent.provider.enqueue(calls(['look', {}, 'c1']))
      const first = await ask(['look'])
      void session.tools?.look?.({}, { callId: 'c1' })
      const waiting = () => diagnostics.flatMap((event) => (event.type === 'replay_tool_waiting' ? [event.tools] : []))
      const next = ask(['look'], results(first)).catch((error: Error) => error.message)
      await vi.advanceTimersByTimeAsync(9_000)
      expect(waiting()).toEqual([])
      await vi.advanceTimersByTimeAsync(1_500)
      expect(waiting()).toEqual([['look']])
      const restored = session.restore()
      await vi.advanceTimersByTimeAsync(31_000)
      await restored
      expect(await next).toContain('restored')
    } finally {
      vi.useRealTimers()
    }
  },
)

proves(
  'session.tools.refusal-words',
  'the model reads that a call is not open, and the program what to do',
  async () => {
    const tools = { look: () => null, pay: () => null }
    const isNotOpen =
      '"look" was blocked (execution_constraint_violated). The call is not open: it was not allowed, or it has an outcome already.'
    const answering = withTools(tools, { gate: 'answer' })
    agent.provider.enqueue(calls(['look', { at: 'x' }, 'c1'], ['look', {}, 'c2']))
    await answering.ask(['look'])
    expect(await answering.session.tools?.look?.({ at: 'y' }, { callId: 'c1' })).toBe(
      '"look" was blocked (execution_constraint_violated). The tool did not run: its arguments were changed after the call was ' +
        'allowed (at). Call it again.',
    )
    expect(await answering.session.tools?.look?.({ at: 'x' }, { callId: 'c1' })).toBe(isNotOpen)
    const throwing = withTools(tools)
    const error = await throwing.session.tools?.look?.({}).catch((thrown: unknown) => thrown)
    expect(String(error)).toContain('run a tool only for a call that create returned, unchanged and once')
    expect(error).toMatchObject({ decision: { blocked: [{ remedy: expect.not.stringContaining('create') }] } })
    answering.session.kill()
    expect(await answering.session.tools?.look?.({}, { callId: 'c2' })).toBe(
      '"look" was blocked (killed). The session was stopped. Make no more tool calls.',
    )
  },
)

proves(
  'session.tools.given-up',
  'a call that the next turn found not run says so, in a diagnostic and to its runner',
  async () => {
    const events: Diagnostic[] = []
    const { session, ask } = withTools(
      { look: () => 'seen', pay: () => null },
      { diagnostics: (event) => events.push(event) },
    )
    agent.provider.enqueue(
      calls(['look', { at: 'x' }, 'c1']),
      calls(['look', { at: 'y' }, 'c2']),
      calls(['look', { at: 'z' }, 'c1']),
    )
    await ask(['look'])
    await ask(['look'])
    const error = await session.tools?.look?.({ at: 'x' }, { callId: 'c1' }).catch((thrown: unknown) => thrown)
    expect(String(error)).toContain('the call was given up when a newer turn began before it ran')
    expect(error).toMatchObject({
      decision: { blocked: [{ remedy: expect.stringContaining('given up when a newer turn') }] },
    })
    expect(events).toEqual([
      {
        type: 'replay_calls_given_up',
        session_id: session.sessionId,
        tools: ['look'],
        detail: expect.stringContaining('calls of look were given up when a newer turn began before they ran'),
      },
    ])
    expect(await session.tools?.look?.({ at: 'y' }, { callId: 'c2' })).toBe('seen')
    await ask(['look'])
    expect(await session.tools?.look?.({ at: 'z' }, { callId: 'c1' })).toBe('seen')
    await expect(session.tools?.look?.({ at: 'z' }, { callId: 'c1' })).rejects.toThrow('no allowed call of look')
    expect((await receiptsOf(session.sessionId))[0]).toMatchObject({ outcome: 'not_executed' })
  },
)
