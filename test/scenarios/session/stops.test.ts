import { expect, vi } from 'vitest'
import {
  observe,
  ReplayConfigError,
  ReplayContractError,
  ReplayKillError,
  replay,
} from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { type Agent, calls, results, says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const contracts = [
  { tool: 'look', side_effect: 'read' as const },
  { tool: 'pay', side_effect: 'write' as const, labels: { deny_when: ['tainted'] } },
]

const { agent, runtime } = await withAgentAndRuntime()

const ran: string[] = []
const tools = {
  look: () => ({ found: true }),
  pay: () => {
    ran.push('pay')
    return { ok: true }
  },
}
const governed = (options = {}) =>
  agent.start({ contracts, tools, apiKey: runtime.key, fetch: runtime.fetch, ...options })
const onServer = async (sessionId: string) =>
  (await runtime.api().loadSession({ params: { session_id: sessionId }, query: { include: 'pending' } })).body

proves(
  [
    'session.kill',
    'state.kill.from-sdk',
    'state.kill.later-calls-throw',
    'error.kill',
    'snapshot.killed',
    'health.killed',
  ],
  'kill() stops a session for good, with and without a server',
  async () => {
    for (const { session, ask, diagnostics } of [agent.start({ contracts }), governed()]) {
      agent.provider.enqueue(says('hello'))
      await ask(['look'])
      const asked = agent.provider.requests.length
      session.kill()
      session.kill()
      await expect(ask(['look'])).rejects.toThrow(ReplayKillError)
      await expect(ask([])).rejects.toThrow(ReplayKillError)
      await expect(session.client.responses.create({ model: 'gpt-4o', input: 'hi' })).rejects.toThrow(ReplayKillError)
      expect(agent.provider.requests.length).toBe(asked)
      expect(session.getState().killed).toBe(true)
      expect(session.getHealth()).toMatchObject({ status: 'inactive', authorityState: 'killed', killed: true })
      expect(diagnostics.filter(({ type }) => type === 'replay_killed')).toHaveLength(1)
    }
  },
)

proves('state.kill.propagates', async () => {
  const { session, ask } = governed()
  agent.provider.enqueue(says('hello'))
  await ask(['look'])
  session.kill()
  await expect.poll(async () => (await onServer(session.sessionId)).session.status).toBe('KILLED')
})

proves(
  ['state.kill.propagates', 'label.by-endpoint', 'session.restore'],
  'what was decided just before restore() has reached the server when it is over',
  async () => {
    const slow: typeof fetch = async (input, init) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      return runtime.fetch(input, init)
    }
    const ending = governed({ fetch: slow })
    agent.provider.enqueue(says('hello'))
    await ending.ask(['look'])
    ending.session.addLabel('last-words')
    await ending.session.restore()
    expect((await onServer(ending.session.sessionId)).session.labels).toEqual(['last-words'])

    const killed = governed({ fetch: slow })
    killed.session.kill()
    await killed.session.restore()
    expect((await onServer(killed.session.sessionId)).session.status).toBe('KILLED')
    expect(killed.diagnostics.map(({ type }) => type)).toEqual(['replay_killed'])
  },
)

proves('state.kill.propagates', 'a kill reaches a session whose create was never answered', async () => {
  let answers = false
  const lossy: typeof fetch = async (input, init) => {
    const response = await runtime.fetch(input, init)
    if (answers) return response
    throw new TypeError('the answer was lost')
  }
  const { session, ask } = governed({ fetch: lossy })
  await expect(ask(['look'])).rejects.toThrow(ReplayContractError)
  answers = true
  session.kill()
  await session.flush()
  expect((await onServer(session.sessionId)).session.status).toBe('KILLED')
})

proves('session.kill.not-held', async () => {
  const held = governed()
  agent.provider.enqueue(calls(['look', {}]))
  await held.ask(['look'])
  const second = governed({ sessionId: held.session.sessionId })
  await expect(second.ask(['look'])).rejects.toThrow(ReplayContractError)
  second.session.kill()
  await second.session.flush()
  expect((await onServer(held.session.sessionId)).session.status).toBe('ACTIVE')
  expect(second.diagnostics.find(({ type }) => type === 'replay_control_refused')).toMatchObject({
    detail: expect.stringContaining('the kill stays in this process, which never held the session'),
  })
})

proves('state.kill.later-calls-throw', 'a kill on the server reaches the client at its next turn', async () => {
  const { session, ask } = governed()
  agent.provider.enqueue(says('hello'))
  await ask(['look'])
  await runtime.api().killSession({ params: { session_id: session.sessionId }, body: {} })
  await expect(ask(['look'])).rejects.toThrow(ReplayKillError)
  expect(session.getHealth().killed).toBe(true)
})

proves(
  ['block.killed', 'state.kill.from-sdk'],
  'a kill between decision and execution keeps the tool from running',
  async () => {
    for (const options of [{}, { apiKey: undefined }]) {
      const { session, ask } = governed(options)
      agent.provider.enqueue(calls(['pay', {}]))
      await ask(['pay'])
      session.kill()
      ran.length = 0
      await expect(session.tools?.pay?.({})).rejects.toMatchObject({ decision: { blocked: [{ reason: 'killed' }] } })
      expect(ran).toEqual([])
    }
  },
)

proves(
  'state.recover.rotates-fence',
  'a call that another holder took over meanwhile does not run here as well',
  async () => {
    const { session, ask } = governed()
    agent.provider.enqueue(calls(['pay', {}]))
    await ask(['pay'])
    const body = { holder_id: 'another', takeover: true }
    expect((await runtime.api().recoverSession({ params: { session_id: session.sessionId }, body })).status).toBe(200)
    ran.length = 0
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 6_000)
    try {
      await expect(session.tools?.pay?.({})).rejects.toThrow('no longer pending for this client')
    } finally {
      vi.restoreAllMocks()
    }
    expect(ran).toEqual([])
  },
)

proves('session.kill', 'a kill during the model call lets nothing of the answer out', async () => {
  const { session, ask } = governed()
  agent.provider.answerWith(() => {
    session.kill()
    return calls(['pay', {}])
  })
  await expect(ask(['pay'])).rejects.toThrow(ReplayKillError)
})

proves(
  ['session.restore', 'state.restore.later-calls-throw'],
  'after restore() the wrapper is inert, the client is free, and nothing is left pending',
  async () => {
    const { session, original, ask } = governed()
    agent.provider.enqueue(calls(['pay', {}]), says('direct'))
    await ask(['pay'])
    await session.restore()
    await expect(ask(['look'])).rejects.toThrow(ReplayConfigError)
    await expect(session.tools?.pay?.({})).rejects.toThrow(ReplayContractError)
    const { pending, session: view } = await onServer(session.sessionId)
    expect(pending).toEqual([])
    expect(view.state).toMatchObject({ stateVersion: 0, totalToolCalls: 0 })
    const direct = await original.chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'hi' }],
    })
    expect(direct.choices[0]?.message.content).toBe('direct')
    expect(session.getHealth()).toMatchObject({ status: 'inactive', bypass_detected: false })
    expect((await onServer(session.sessionId)).session).toMatchObject({ status: 'ACTIVE', activity: 'ended' })
    expect(Object.hasOwn(original.chat.completions, 'create')).toBe(false)
    await replay(original, { contracts: [], diagnostics: () => {} }).restore()
  },
)

proves(
  [
    'state.bypass.compromised',
    'state.bypass.diagnostic',
    'state.bypass.call-not-blocked',
    'event.replay-bypass-detected',
    'event.replay-bypass-detected.no-block',
    'health.bypass-detected',
  ],
  'a direct call on the original client goes through, is reported, and compromises the session',
  async () => {
    const { session, original, ask, diagnostics } = governed()
    agent.provider.enqueue(says('hello'), says('direct'))
    await ask(['look'])
    const direct = await original.chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'hi' }],
    })
    expect(direct.choices[0]?.message.content).toBe('direct')
    expect(diagnostics).toContainEqual({
      type: 'replay_bypass_detected',
      session_id: session.sessionId,
      method: 'chat.completions.create',
    })
    expect(session.getHealth()).toMatchObject({
      status: 'degraded',
      authorityState: 'compromised',
      bypass_detected: true,
    })
    await expect.poll(async () => (await onServer(session.sessionId)).session.status).toBe('COMPROMISED')
    await expect(ask(['look'])).rejects.toThrow('compromised')
  },
)

proves(
  'state.bypass.compromised',
  'helpers, raw requests and derived clients of the original are direct calls too',
  async () => {
    const ways: ((client: ReturnType<Agent['openai']>) => PromiseLike<unknown>)[] = [
      (client) => client.chat.completions.parse({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }),
      (client) => client.withOptions({ timeout: 5_000 }).chat.completions.create({ model: 'gpt-4o', messages: [] }),
      (client) => client.responses.create({ model: 'gpt-4o', input: 'hi' }),
      (client) => client.post('/chat/completions', { body: { model: 'gpt-4o', messages: [] } }),
      (client) => client.request({ method: 'post', path: '/responses', body: { model: 'gpt-4o', input: 'hi' } }),
      (client) => client.withOptions({ timeout: 5_000 }).post('/responses', { body: { model: 'gpt-4o', input: 'hi' } }),
      (client) => client.beta.responses.create({ model: 'gpt-4o', input: 'hi' }),
    ]
    for (const call of ways) {
      const { session, original } = governed()
      agent.provider.enqueue(says('direct'))
      await call(original)
      expect(session.getHealth()).toMatchObject({ authorityState: 'compromised', bypass_detected: true })
    }
  },
)

proves('health.bypass-detected', 'calls through the wrapper are no bypass, whatever way they take', async () => {
  const { session } = governed()
  agent.provider.enqueue(says('a'), says('b'), says('c'))
  await session.client.chat.completions.parse({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] })
  await session.client.withOptions({ timeout: 5_000 }).chat.completions.create({ model: 'gpt-4o', messages: [] })
  await session.client.chat.completions.stream({ model: 'gpt-4o', messages: [] }).finalContent()
  agent.provider.enqueue({ response: { object: 'list', data: [] } })
  await session.client.models.list()
  expect(session.getHealth()).toMatchObject({ status: 'healthy', bypass_detected: false })
})

proves(
  'health.bypass-detected',
  'what calls no model may be called on the original, and nothing is left on it',
  async () => {
    const { session, original } = governed()
    agent.provider.enqueue({ response: { object: 'list', data: [] } })
    await original.models.list()
    expect(session.getHealth().bypass_detected).toBe(false)
    const derived = original.withOptions({ timeout: 5_000 })
    await session.restore()
    for (const client of [original, derived]) {
      for (const name of ['request', 'getAPIList', 'withOptions']) expect(Object.hasOwn(client, name), name).toBe(false)
    }
  },
)

proves(
  'error.config.compilation-failed.attached',
  'a client derived from one that a session holds, and the wrapper itself, are taken',
  async () => {
    const { session, original } = governed()
    const derived = original.withOptions({ timeout: 5_000 })
    for (const client of [derived, session.client, session.client.withOptions({ timeout: 5_000 })]) {
      expect(() => replay(client, { contracts })).toThrow(
        expect.objectContaining({ condition: 'compilation_failed', message: expect.stringContaining('session') }),
      )
      const reported: string[] = []
      await observe(client, { apiKey: runtime.key, diagnostics: ({ type }) => reported.push(type) }).restore()
      expect(reported).toEqual(['double_wrap'])
    }
    expect(session.getHealth().bypass_detected).toBe(false)
    await session.restore()
    await replay(derived, { contracts }).restore()
  },
)

proves(
  ['session.add-label', 'label.by-endpoint', 'label.gates-narrow'],
  'labels and filters hold here at once and on the server before the next turn',
  async () => {
    const { session, ask } = governed()
    agent.provider.enqueue(says('hello'), says('hello'), says('hello'))
    session.addLabel('first')
    await ask(['look', 'pay'])
    expect((await onServer(session.sessionId)).session.labels).toEqual(['first'])
    session.addLabel('tainted')
    session.narrow(['look', 'pay'])
    await ask(['look', 'pay'])
    expect(session.getLastNarrowing()?.removed).toMatchObject([{ tool: 'pay', reason: 'label_gate' }])
    const { session: view } = await onServer(session.sessionId)
    expect(view).toMatchObject({ labels: ['first', 'tainted'], tool_filter: ['look', 'pay'] })
    expect(session.getState().controlRevision).toBe(view.control_revision)
    session.widen()
    await ask(['look', 'pay'])
    expect((await onServer(session.sessionId)).session.tool_filter).toBeNull()
  },
)

proves('session.get-state', 'a session that another holder recovered takes no more calls here', async () => {
  const { session, ask } = governed()
  agent.provider.enqueue(calls(['look', {}]))
  const first = await ask(['look'])
  await session.tools?.look?.({})
  await runtime.api().recoverSession({
    params: { session_id: session.sessionId },
    body: { holder_id: 'somebody-else', takeover: true },
  })
  await expect(ask(['look'], results(first))).rejects.toThrow('another holder')
  expect(session.getHealth()).toMatchObject({ status: 'inactive', authorityState: 'inactive' })
})
