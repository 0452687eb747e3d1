import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import {
  prepareContracts,
  ReplayConfigError,
  ReplayContractError,
  replay,
  type StoredSession,
} from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { type Agent, callNames, calls, results, says, startAgent } from '../../support/runtime/agent.js'

const look = { tool: 'look', side_effect: 'read' as const }
const pay = { tool: 'pay', side_effect: 'write' as const, argument_value_invariants: [{ path: '$.amount', lte: 500 }] }

let agent: Agent
let folder: string
beforeAll(async () => {
  agent = await startAgent()
  folder = mkdtempSync(join(tmpdir(), 'countersign-options-'))
})
afterAll(async () => {
  await agent.close()
  rmSync(folder, { recursive: true })
})

function sessionFile(text: string): string {
  const path = join(folder, 'session.yaml')
  writeFileSync(path, text)
  return path
}

const sentTools = (): string[] => {
  const tools = (agent.provider.requests.at(-1)?.body?.tools ?? []) as { function: { name: string } }[]
  return tools.map((tool) => tool.function.name)
}
const sentMessages = () => agent.provider.requests.at(-1)?.body?.messages as { role: string; content: string }[]

proves(
  ['option.contracts', 'contract.tool'],
  'contracts takes one contract or several, each for its exact tool',
  async () => {
    for (const contracts of [look, [look], [look, pay]]) {
      const { ask } = agent.start({ contracts })
      agent.provider.enqueue(calls(['look']), calls(['Look']))
      expect(callNames(await ask(['look', 'Look']))).toEqual(['look'])
      await expect(ask(['look', 'Look'])).rejects.toThrow('unmatched_tool_blocked')
    }
  },
)

proves(
  'option.contracts.prepared',
  'contracts takes the result of prepareContracts, whole, with its policy and its session definition',
  async () => {
    const prepared = prepareContracts([look, pay], { session: { session_limits: { max_tool_calls: 1 } } })
    const { ask } = agent.start({ contracts: prepared })
    agent.provider.enqueue(calls(['look']))
    const first = await ask(['look', 'pay', 'unknown'])
    expect(sentTools()).toEqual(['look', 'pay'])
    await expect(ask(['look'], results(first))).rejects.toThrow('session_limit_exceeded')

    const policy = { cedar: 'permit (principal, action, resource) when { principal.role == "boss" };' }
    const guarded = prepareContracts([look, { ...pay, policy }])
    for (const [role, offered] of [
      ['boss', ['look', 'pay']],
      ['guest', ['look']],
    ] as const) {
      const { ask: askAs } = agent.start({ contracts: guarded, principal: { role } })
      agent.provider.enqueue(says('hello'))
      await askAs(['look', 'pay'])
      expect(sentTools()).toEqual(offered)
    }

    expect(() => agent.start({ contracts: prepared, sessionYamlPath: 'session.yaml' })).toThrow(
      'pass it to prepareContracts instead of sessionYamlPath',
    )
    expect(() => agent.start({ contracts: [prepared] as never })).toThrow('the one result of prepareContracts')
  },
)

proves(
  ['option.contracts-dir', 'option.session-yaml-path', 'option.session-yaml-path.auto'],
  'contracts and the session definition are read from files, wherever the latter lies',
  async () => {
    const pack = join(folder, 'pack')
    mkdirSync(join(pack, 'contracts'), { recursive: true })
    writeFileSync(join(pack, 'contracts', 'look.yaml'), 'tool: look\nside_effect: read\n')
    writeFileSync(join(pack, 'session.yaml'), 'agent: from-pack\nsession_limits: { max_tool_calls: 1 }\n')
    const elsewhere = join(folder, 'other.yaml')
    writeFileSync(elsewhere, 'agent: from-elsewhere\n')
    for (const contractsDir of [pack, join(pack, 'contracts')]) {
      const { session, ask } = agent.start({ contractsDir })
      agent.provider.enqueue(calls(['look']))
      const first = await ask(['look'])
      expect(session.getState().agent).toBe('from-pack')
      await expect(ask(['look'], results(first))).rejects.toThrow('session_limit_exceeded')
    }
    const { session } = agent.start({ contractsDir: pack, sessionYamlPath: elsewhere })
    expect(session.getState().agent).toBe('from-elsewhere')
    expect(() => agent.start({ contractsDir: join(folder, 'nowhere') })).toThrow(ReplayConfigError)
  },
)

proves(['option.agent', 'option.session-id', 'snapshot.agent', 'snapshot.session-id'], () => {
  const named = agent.start({ contracts: look, agent: 'support', sessionId: 'ses-1' }).session
  expect(named.getState()).toMatchObject({ agent: 'support', sessionId: 'ses-1' })
  expect(agent.start({ contracts: look }).session.getState().agent).toBeNull()
})

proves('option.session-id.auto', () => {
  const [one, two] = [agent.start({ contracts: look }).session, agent.start({ contracts: look }).session]
  expect(one?.sessionId).toMatch(/^[A-Za-z0-9_.:-]{1,128}$/)
  expect(one?.sessionId).not.toBe(two?.sessionId)
  expect(() => agent.start({ contracts: look, sessionId: 'has a space' })).toThrow('sessionId')
})

proves(
  ['option.unmatched-policy.default', 'option.unmatched-policy.block', 'option.unmatched-policy.allow'],
  async () => {
    for (const options of [{}, { unmatchedPolicy: 'block' as const }]) {
      const { ask } = agent.start({ contracts: look, ...options })
      agent.provider.enqueue(calls(['other']))
      await expect(ask(['look', 'other'])).rejects.toThrow('unmatched_tool_blocked')
      expect(sentTools()).toEqual(['look'])
    }
    const { ask } = agent.start({ contracts: look, unmatchedPolicy: 'allow' })
    agent.provider.enqueue(calls(['other']))
    expect(callNames(await ask(['look', 'other']))).toEqual(['other'])
  },
)

proves(
  ['option.compat-enforcement.default', 'option.compat-enforcement.protective', 'option.compat-enforcement.advisory'],
  async () => {
    const { session, ask } = agent.start({ contracts: pay })
    agent.provider.enqueue(calls(['pay', { amount: 501 }]))
    await expect(ask(['pay'])).rejects.toThrow(ReplayContractError)
    expect(session.getHealth()).toMatchObject({ compatEnforcement: 'protective', authorityState: 'active' })

    const advised = agent.start({ contracts: pay, compatEnforcement: 'advisory' })
    agent.provider.enqueue(calls(['pay', { amount: 501 }]))
    expect(callNames(await advised.ask(['pay', 'other']))).toEqual(['pay'])
    expect(sentTools()).toEqual(['pay', 'other'])
    expect(advised.diagnostics).toContainEqual(
      expect.objectContaining({ type: 'replay_advisory_block', tool_name: 'pay', reason: 'argument_value_mismatch' }),
    )
    expect(advised.diagnostics).toContainEqual(expect.objectContaining({ type: 'replay_advisory_narrow' }))
    expect(advised.session.getHealth()).toMatchObject({ compatEnforcement: 'advisory', authorityState: 'advisory' })
  },
)

proves(
  ['option.narrowing-feedback.default', 'option.narrowing-feedback.silent', 'option.narrowing-feedback.metadata'],
  async () => {
    for (const options of [{}, { narrowingFeedback: 'silent' as const }, { narrowingFeedback: 'metadata' as const }]) {
      const narrowed: unknown[] = []
      const onNarrow = (result: unknown) => narrowed.push(result)
      const { session, ask } = agent.start({ contracts: look, onNarrow, ...options })
      agent.provider.enqueue(says('hello'))
      await ask(['look', 'other'])
      expect(sentTools()).toEqual(['look'])
      expect(sentMessages()).toEqual([{ role: 'user', content: 'go on' }])
      expect(session.getState().lastNarrowing).toMatchObject({
        allowed: ['look'],
        removed: [{ tool: 'other', reason: 'no_contract' }],
      })
      expect(session.getLastNarrowing()?.removed).toMatchObject([{ tool: 'other', reason: 'no_contract' }])
      // Through the accessors alone.
      expect(narrowed).toHaveLength(options.narrowingFeedback === 'metadata' ? 0 : 1)
    }
  },
)

proves(
  ['option.narrowing-feedback.inject', 'option.narrowing-feedback.inject-restricted'],
  'inject tells the model first which tools are gone and why, but not what the policy says',
  async () => {
    const contracts = [
      look,
      { ...pay, policy: { cedar: 'permit (principal, action, resource) when { principal.role == "boss" };' } },
    ]
    const { ask } = agent.start({ contracts, principal: { id: 'ann', role: 'clerk' }, narrowingFeedback: 'inject' })
    agent.provider.enqueue(says('hello'))
    const long = 'x'.repeat(200)
    await ask(['look', 'pay', 'other', long])
    const [first, second] = sentMessages()
    expect(first?.role).toBe('system')
    expect(first?.content).toContain('"other": no_contract')
    expect(first?.content).toContain('"pay": restricted')
    expect(first?.content).not.toContain('policy')
    expect(first?.content).not.toContain(long)
    expect(second).toEqual({ role: 'user', content: 'go on' })
  },
)

proves(
  'option.narrowing-feedback.inject',
  'the text stands where each API takes it, before what the program says there',
  async () => {
    const options = { contracts: look, narrowingFeedback: 'inject' as const }
    agent.provider.enqueue(says('hello'), says('hello'))
    const openai = replay(agent.openai(), options)
    await openai.client.responses.create({
      model: 'gpt-4o',
      instructions: 'Be kind.',
      input: 'go on',
      tools: ['look', 'other'].map((name) => ({ type: 'function' as const, name, parameters: {}, strict: false })),
    })
    expect(agent.provider.requests.at(-1)?.body).toMatchObject({
      instructions: expect.stringMatching(/"other": no_contract.*Be kind\.$/s),
      tools: [{ name: 'look' }],
    })
    const anthropic = replay(agent.anthropic(), options)
    await anthropic.client.messages.create({
      model: 'claude-test',
      max_tokens: 9,
      system: 'Be kind.',
      messages: [{ role: 'user', content: 'go on' }],
      tools: ['look', 'other'].map((name) => ({ name, input_schema: { type: 'object' as const } })),
    })
    expect(agent.provider.requests.at(-1)?.body).toMatchObject({
      system: expect.stringMatching(/"other": no_contract.*Be kind\.$/s),
      tools: [{ name: 'look' }],
    })
    await Promise.all([openai.restore(), anthropic.restore()])
  },
)

proves(['option.provider-constraints.block', 'error.config.provider-incompatible'], async () => {
  const blocking = (...patterns: string[]) => ({
    contracts: look,
    providerConstraints: { block_incompatible: patterns },
  })
  for (const pattern of ['openai', 'openai/*', 'op*']) {
    expect(() => agent.start(blocking(pattern))).toThrow(
      expect.objectContaining({ condition: 'provider_incompatible' }),
    )
  }
  const { ask } = agent.start(blocking('anthropic/*', 'openai/gpt-4*'))
  const asked = agent.provider.requests.length
  await expect(ask(['look'])).rejects.toMatchObject({ name: 'ReplayConfigError', condition: 'provider_incompatible' })
  expect(agent.provider.requests.length).toBe(asked)
})

proves('option.provider-constraints.misspelt', 'a pattern that misspells a provider is refused at the start', () => {
  const misspelt = {
    'OpenAI/*': 'openai/*',
    OPENAI: 'openai',
    'Open-AI*': 'openai*',
    'antropic/claude*': 'anthropic/claude*',
  }
  for (const [pattern, meant] of Object.entries(misspelt)) {
    const error = {
      name: 'ReplayConfigError',
      condition: 'compilation_failed',
      message: expect.stringContaining(`"${meant}"`),
    }
    for (const kind of ['block_incompatible', 'warn_incompatible']) {
      const providerConstraints = { [kind]: [pattern] }
      expect(() => agent.start({ contracts: look, providerConstraints })).toThrow(expect.objectContaining(error))
      const sessionYamlPath = sessionFile(`provider_constraints: ${JSON.stringify(providerConstraints)}`)
      expect(() => agent.start({ contracts: look, sessionYamlPath })).toThrow(expect.objectContaining(error))
    }
    const sessionYamlPath = sessionFile(`pricing: { ${JSON.stringify(pattern)}: { input: 1, output: 1 } }`)
    expect(() => agent.start({ contracts: look, sessionYamlPath })).toThrow(expect.objectContaining(error))
  }
  // Of other providers, or what begins the name of a model.
  for (const pattern of ['anthropic/*', 'mistral/*', 'meta-llama/*', 'gpt-4*', 'op-4', '*/gpt-4o-mini']) {
    expect(() => agent.start({ contracts: look, providerConstraints: { block_incompatible: [pattern] } })).not.toThrow()
  }
})

proves(
  ['option.provider-constraints.warn', 'event.replay-provider-warning', 'option.diagnostics', 'event.local-callback'],
  async () => {
    const { ask, diagnostics } = agent.start({
      contracts: look,
      providerConstraints: { warn_incompatible: ['openai/gpt-4*'] },
    })
    agent.provider.enqueue(says('hello'), says('hello'))
    await ask(['look'])
    await ask(['look'])
    const warnings = diagnostics.filter(({ type }) => type === 'replay_provider_warning')
    expect(warnings).toEqual([
      expect.objectContaining({ provider: 'openai', model: 'gpt-4o', pattern: 'openai/gpt-4*' }),
    ])
  },
)

proves(
  ['option.principal', 'auth.principal.policy', 'narrowed-tool.policy-denied', 'contract.policy'],
  'policies judge the principal that was given',
  async () => {
    const policy = { cedar: 'permit (principal, action, resource) when { principal.role == "boss" };' }
    const contracts = [look, { ...pay, policy }]
    const clerk = agent.start({ contracts, principal: { id: 'ann', role: 'clerk' } })
    agent.provider.enqueue(calls(['pay', { amount: 5 }]))
    await expect(clerk.ask(['look', 'pay'])).rejects.toThrow('policy_denied')
    expect(sentTools()).toEqual(['look'])
    expect(clerk.session.getLastNarrowing()?.removed).toEqual([
      expect.objectContaining({ tool: 'pay', reason: 'policy_denied' }),
    ])
    const boss = agent.start({ contracts, principal: { id: 'bob', role: 'boss' } })
    agent.provider.enqueue(calls(['pay', { amount: 5 }]))
    expect(callNames(await boss.ask(['look', 'pay']))).toEqual(['pay'])
    expect(boss.session.getState().principal).toBeNull()
  },
)

proves(
  ['option.labels', 'label.at-creation', 'narrowed-tool.label-gate', 'session.add-label', 'contract.label-gates'],
  async () => {
    const contracts = [look, { ...pay, labels: { deny_when: ['tainted'] } }]
    const labelled = agent.start({ contracts, labels: ['tainted'] })
    agent.provider.enqueue(says('hello'))
    await labelled.ask(['look', 'pay'])
    expect(labelled.session.getLastNarrowing()?.removed).toEqual([
      expect.objectContaining({ tool: 'pay', reason: 'label_gate' }),
    ])
    const later = agent.start({ contracts })
    agent.provider.enqueue(says('hello'), says('hello'))
    await later.ask(['look', 'pay'])
    expect(sentTools()).toEqual(['look', 'pay'])
    later.session.addLabel('tainted')
    later.session.addLabel('tainted')
    await later.ask(['look', 'pay'])
    expect(sentTools()).toEqual(['look'])
    for (const bad of ['', 'has space', 'é', 'x'.repeat(129), 5 as unknown as string]) {
      expect(() => later.session.addLabel(bad)).toThrow('label')
      expect(() => agent.start({ contracts, labels: [bad] })).toThrow('label')
    }
  },
)

proves(
  [
    'option.on-narrow',
    'narrow-result.allowed',
    'narrow-result.removed',
    'session.get-last-narrowing',
    'narrowed-tool.tool',
  ],
  async () => {
    const reported: unknown[] = []
    const { session, ask } = agent.start({ contracts: look, onNarrow: (result) => reported.push(result) })
    agent.provider.enqueue(says('hello'), says('hello'))
    await ask(['look'])
    expect(reported).toEqual([])
    await ask(['look', 'other'])
    expect(reported).toEqual([session.getLastNarrowing()])
    expect(reported).toMatchObject([
      {
        allowed: [{ type: 'function', function: { name: 'look' } }],
        removed: [{ tool: 'other', reason: 'no_contract' }],
      },
    ])
  },
)

proves(['session.narrow', 'session.widen', 'narrowed-tool.manual-filter'], async () => {
  const { session, ask } = agent.start({ contracts: [look, pay] })
  agent.provider.enqueue(calls(['pay', { amount: 5 }]), says('hello'))
  session.narrow(['look'])
  await expect(ask(['look', 'pay'])).rejects.toThrow('forbidden_tool')
  expect(sentTools()).toEqual(['look'])
  expect(session.getLastNarrowing()?.removed).toMatchObject([{ tool: 'pay', reason: 'manual_filter' }])
  session.widen()
  await ask(['look', 'pay'])
  expect(sentTools()).toEqual(['look', 'pay'])
})

proves(
  'option.store',
  'a store keeps the state and the captures, and the slower of two writers is refused',
  async () => {
    const sessions = new Map<string, StoredSession>()
    const captures: unknown[] = []
    const store = {
      load: async (id: string) => sessions.get(id) ?? null,
      save: async (id: string, stored: StoredSession, expected: number) => {
        if ((sessions.get(id)?.version ?? 0) !== expected) return false
        sessions.set(id, structuredClone(stored))
        return true
      },
      appendCapture: (item: unknown) => void captures.push(item),
    }
    const options = { contracts: look, sessionId: 'stored', store }
    const first = agent.start(options)
    agent.provider.enqueue(calls(['look']), says('done'))
    const completion = await first.ask(['look'])
    await first.ask(['look'], results(completion))
    await first.session.flush()
    expect(first.session.getState().stateVersion).toBe(1)
    expect(captures).toHaveLength(2)
    expect(captures[0]).toMatchObject({ tool_names: ['look'], validation: { mode: 'enforce', pass: true } })

    const second = agent.start(options)
    agent.provider.enqueue(says('hello'), calls(['look']))
    await second.ask(['look'])
    expect(second.session.getState().stateVersion).toBe(1)
    await expect(first.ask(['look'])).rejects.toThrow('another process')
    expect(() => agent.start({ ...options, contracts: pay })).not.toThrow()
    await expect(agent.start({ ...options, contracts: pay }).ask(['pay'])).rejects.toThrow(
      'stored with different contracts',
    )
  },
)

proves(['option.capture-level', 'option.capture-level.default'], async () => {
  const captured = async (options: object) => {
    const captures: unknown[] = []
    const store = { load: () => null, save: () => true, appendCapture: (item: unknown) => void captures.push(item) }
    const { session, ask } = agent.start({ contracts: look, store, ...options })
    agent.provider.enqueue(calls(['look', { at: 'secret-place' }]))
    await ask(['look'])
    await session.flush()
    return JSON.stringify(captures)
  }
  expect(await captured({ captureLevel: 'metadata' })).not.toContain('secret-place')
  const usual = await captured({})
  expect(usual).toContain('secret-place')
  expect(usual).not.toContain('go on')
  expect(await captured({ captureLevel: 'full' })).toContain('go on')
})
