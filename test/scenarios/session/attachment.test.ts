import { afterEach, expect, vi } from 'vitest'
import { type ReplayOptions, ReplayUnavailableError } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { callNames, calls, results, says } from '../../support/runtime/agent.js'
import { planOf } from '../../support/runtime/plans.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const contracts = [
  { tool: 'look', side_effect: 'read' as const },
  { tool: 'pay', side_effect: 'write' as const, argument_value_invariants: [{ path: '$.amount', lte: 500 }] },
]
const tools = { look: () => ({ found: true }), pay: () => ({ ok: true }) }
const plan = planOf(contracts)
const approved = { status: 'approved', ...plan, approved: null, draft: null }

const { agent, runtime } = await withAgentAndRuntime()
afterEach(() => {
  vi.unstubAllEnvs()
})

/** The real server, and a lookup that answers as the test wants. */
function attach(answer: object | (() => Promise<Response>), options: ReplayOptions = {}) {
  const asked: URL[] = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const url = new URL(String(input))
    if (url.pathname !== '/api/v1/governance/plan') return runtime.fetch(input, init)
    asked.push(url)
    if (typeof answer === 'function') return answer()
    const { agent: name, environment } = Object.fromEntries(url.searchParams)
    return Response.json({ agent: name, environment, ...answer })
  }
  const environment = 'production' as const
  return { ...agent.start({ apiKey: runtime.key, fetch, environment, tools, timeoutMs: 5_000, ...options }), asked }
}

proves(
  [
    'plan.zero-config',
    'option.environment',
    'option.environment.production',
    'health.governance-attachment',
    'health.governance-attachment.pending',
    'health.governance-attachment.attached',
  ],
  'with a key and no contracts the approved plan is attached, and the server governs by it',
  async () => {
    const { session, ask, asked } = attach(approved, { agent: 'support' })
    expect(session.getHealth()).toMatchObject({ governanceAttachment: 'pending', authorityState: 'inactive' })
    agent.provider.enqueue(calls(['look', {}]), calls(['pay', { amount: 501 }]))
    const first = await ask(['look', 'pay'])
    expect(await session.tools?.look?.({})).toEqual({ found: true })
    await expect(ask(['look', 'pay'], results(first))).rejects.toThrow('argument_value_mismatch')
    expect(session.getHealth()).toMatchObject({
      governanceAttachment: 'attached',
      protectionLevel: 'govern',
      tier: 'strong',
      compatEnforcement: 'protective',
    })
    expect(asked.map(({ search }) => search)).toEqual(['?agent=support&environment=production'])
    const { body } = await runtime.api().loadSession({ params: { session_id: session.sessionId } })
    expect(body.session).toMatchObject({
      compiled_hash: plan.compiled_hash,
      state_version: 1,
      environment: 'production',
    })
  },
)

proves('option.environment.development', async () => {
  const { session, ask } = attach(approved, { environment: 'development' })
  agent.provider.enqueue(calls(['pay', { amount: 501 }]))
  expect(callNames(await ask(['pay', 'other']))).toEqual(['pay'])
  expect(session.getLastShadowDelta()?.would_have_blocked).toMatchObject([{ tool_name: 'pay' }])
  expect(session.getHealth()).toMatchObject({ governanceAttachment: 'attached', protectionLevel: 'monitor' })
})

proves('option.environment.staging', async () => {
  const { session, ask } = attach(approved, { environment: 'staging' })
  agent.provider.enqueue(calls(['pay', { amount: 501 }]))
  await expect(ask(['pay'])).rejects.toThrow('argument_value_mismatch')
  expect(session.getHealth()).toMatchObject({ protectionLevel: 'govern', compatEnforcement: 'advisory' })
})

proves(
  ['option.environment.staging', 'option.environment.production'],
  'without the server, under onError allow, staging advises and production protects',
  async () => {
    for (const environment of ['staging', 'production'] as const) {
      let away = false
      const fetch: typeof globalThis.fetch = async (input, init) => {
        if (away) throw new TypeError('fetch failed')
        const { pathname, searchParams } = new URL(String(input))
        if (pathname !== '/api/v1/governance/plan') return runtime.fetch(input, init)
        return Response.json({ ...Object.fromEntries(searchParams), ...approved })
      }
      const { session, ask, diagnostics } = agent.start({
        apiKey: runtime.key,
        fetch,
        environment,
        tools,
        onError: 'allow',
      })
      agent.provider.enqueue(says('hello'), calls(['pay', { amount: 501 }]))
      await ask(['pay'])
      away = true
      if (environment === 'production') {
        await expect(ask(['pay', 'other'])).rejects.toThrow('argument_value_mismatch')
        continue
      }
      expect(callNames(await ask(['pay', 'other']))).toEqual(['pay'])
      expect(diagnostics).toContainEqual(
        expect.objectContaining({ type: 'replay_advisory_block', reason: 'argument_value_mismatch' }),
      )
      expect(session.getHealth()).toMatchObject({ durability: 'degraded-local', authorityState: 'advisory' })
    }
  },
)

proves(
  ['option.environment', 'option.compat-enforcement.only-compat'],
  'explicit options win over the environment, and compatibility is none of the server',
  async () => {
    const enforced = attach(approved, { environment: 'development', mode: 'enforce', compatEnforcement: 'advisory' })
    agent.provider.enqueue(calls(['pay', { amount: 501 }]))
    await expect(enforced.ask(['pay'])).rejects.toThrow('argument_value_mismatch')
    expect(enforced.session.getHealth()).toMatchObject({ protectionLevel: 'govern', compatEnforcement: 'advisory' })
  },
)

const changed = { ...approved, compiled_session: { ...plan.compiled_session, session: { agent: 'another' } } }
const withPolicy = planOf([
  { ...contracts[0], tool: 'look', policy: { cedar: 'permit (principal, action, resource);' } },
])
const FAILURES: [string, object | (() => Promise<Response>), string][] = [
  [
    'no_plan',
    { status: 'none', compiled_session: null, compiled_hash: null, approved: null, draft: null },
    'no approved plan',
  ],
  [
    'no_plan',
    { status: 'draft', compiled_session: null, compiled_hash: null, approved: null, draft: null },
    'no approved plan',
  ],
  ['artifact_invalid', changed, 'hash'],
  ['attachment_failed', { ...approved, ...withPolicy }, 'principal'],
  ['fetch_failed', async () => Promise.reject(new TypeError('fetch failed')), 'fetch failed'],
  ['fetch_failed', async () => new Response('not json'), 'not JSON'],
]
proves(
  'health.governance-attachment.attached',
  'turns that wait for a lookup attach one plan and one session',
  async () => {
    let isAway = true
    const { session, ask, asked } = attach(async () => {
      if (isAway) throw new TypeError('fetch failed')
      return Response.json({ agent: 'support', environment: 'production', ...approved })
    })
    await expect(ask(['look'])).rejects.toThrow('fetch failed')
    isAway = false
    const before = asked.length
    agent.provider.enqueue(says('one'), says('two'), says('three'))
    await Promise.all([ask(['look']), ask(['look']), ask(['look'])])
    expect(asked.length - before).toBe(1)
    expect(session.getHealth()).toMatchObject({ governanceAttachment: 'attached', authorityState: 'active' })
  },
)

for (const [state, answer, why] of FAILURES) {
  proves(
    [
      'option.environment.production-fail-closed',
      'health.governance-attachment.no-plan',
      'health.governance-attachment.artifact-invalid',
      'health.governance-attachment.attachment-failed',
      'health.governance-attachment.fetch-failed',
    ],
    `without a plan that can be used production blocks, and development only captures (${state}: ${why})`,
    async () => {
      const blocked = [attach(answer), attach(answer, { environment: 'staging', compatEnforcement: 'protective' })]
      for (const { session, ask } of blocked) {
        const asked = agent.provider.requests.length
        await expect(ask(['look'])).rejects.toThrow(ReplayUnavailableError)
        await expect(ask(['look'])).rejects.toThrow(why)
        expect(agent.provider.requests.length).toBe(asked)
        expect(session.getHealth()).toMatchObject({
          status: 'degraded',
          authorityState: 'inactive',
          protectionLevel: 'protect',
          compatEnforcement: 'protective',
          governanceAttachment: state,
        })
      }
      const { session, ask } = attach(answer, { environment: 'development' })
      agent.provider.enqueue(calls(['pay', { amount: 501 }]))
      expect(callNames(await ask(['pay']))).toEqual(['pay'])
      expect(session.getHealth()).toMatchObject({ protectionLevel: 'monitor', governanceAttachment: state })
    },
  )

  if (state === 'attachment_failed') continue
  proves(
    'option.environment.staging-advises',
    `in staging calls pass where there is no plan or no service (${state}: ${why})`,
    async () => {
      const { session, ask, diagnostics } = attach(answer, { environment: 'staging' })
      agent.provider.enqueue(calls(['pay', { amount: 501 }, 'c1']))
      expect(callNames(await ask(['pay']))).toEqual(['pay'])
      expect(await session.tools?.pay?.({ amount: 501 }, { callId: 'c1' })).toEqual({ ok: true })
      expect(diagnostics).toContainEqual(
        expect.objectContaining({ type: 'governance_attachment', state, detail: expect.stringContaining(why) }),
      )
      expect(diagnostics).toContainEqual(expect.objectContaining({ type: 'replay_protection_level', level: 'monitor' }))
      expect(session.getHealth()).toMatchObject({
        status: 'degraded',
        authorityState: 'inactive',
        protectionLevel: 'monitor',
        compatEnforcement: 'advisory',
        governanceAttachment: state,
        durability: state === 'fetch_failed' ? 'degraded-local' : 'server',
      })
    },
  )
}

proves('option.environment.staging-advises', 'only where the program asks for no more', async () => {
  const none = FAILURES[0]?.[1] as object
  const strict = attach(none, { environment: 'staging', requireProtection: 'govern' })
  await expect(strict.ask(['look'])).rejects.toThrow(ReplayUnavailableError)
  const unusable = attach({ ...approved, ...withPolicy }, { environment: 'staging' })
  await expect(unusable.ask(['look'])).rejects.toThrow('principal')
  const production = attach(none, { environment: 'production', compatEnforcement: 'advisory' })
  await expect(production.ask(['look'])).rejects.toThrow(ReplayUnavailableError)
})

proves('option.environment.staging-advises', 'until the service is there: the next call is judged', async () => {
  let up = false
  const { session, ask } = attach(
    async () => {
      if (!up) throw new TypeError('fetch failed')
      return Response.json({ agent: 'default', environment: 'staging', ...approved })
    },
    { environment: 'staging' },
  )
  agent.provider.enqueue(calls(['pay', { amount: 501 }]), calls(['pay', { amount: 501 }]))
  expect(callNames(await ask(['pay']))).toEqual(['pay'])
  up = true
  await expect(ask(['pay'])).rejects.toThrow('argument_value_mismatch')
  expect(session.getHealth()).toMatchObject({ status: 'healthy', governanceAttachment: 'attached' })
})

proves('health.governance-attachment.fetch-failed', 'a lookup that failed is made again by the next call', async () => {
  let up = false
  const { session, ask } = attach(async () => {
    if (!up) throw new TypeError('fetch failed')
    return Response.json({ agent: 'default', environment: 'production', ...approved })
  })
  await expect(ask(['look'])).rejects.toThrow(ReplayUnavailableError)
  up = true
  agent.provider.enqueue(says('hello'))
  await ask(['look'])
  expect(session.getHealth()).toMatchObject({ status: 'healthy', governanceAttachment: 'attached' })
})

proves(
  'option.environment',
  'an unknown environment counts as production, and the error names the option',
  async () => {
    vi.stubEnv('NODE_ENV', 'test')
    const { environment: _, ...rest } = { environment: 'none' }
    const fetch: typeof globalThis.fetch = async () =>
      Response.json({ agent: 'default', environment: 'production', ...(FAILURES[0]?.[1] as object), ...rest })
    const { ask } = agent.start({ apiKey: runtime.key, fetch, tools })
    await expect(ask(['look'])).rejects.toThrow('COUNTERSIGN_ENVIRONMENT')
    vi.stubEnv('COUNTERSIGN_ENVIRONMENT', 'development')
    const attached = agent.start({ apiKey: runtime.key, fetch, tools })
    agent.provider.enqueue(says('hello'))
    await attached.ask(['look'])
  },
)

proves(
  ['protection.govern-needs-tools', 'protection.govern-needs-key', 'protection.protect', 'health.durability.inactive'],
  'govern needs a key and tools; with less, calls are judged here and nothing is written',
  async () => {
    const before = await runtime.sql`select count(*)::int as n from sessions`
    const keyless = agent.start({ contracts, tools })
    const toolless = agent.start({ contracts, apiKey: runtime.key, fetch: runtime.fetch })
    for (const { session, ask, diagnostics } of [keyless, toolless]) {
      expect(diagnostics).toMatchObject([{ type: 'replay_protection_level', level: 'protect' }])
      agent.provider.enqueue(calls(['pay', { amount: 501 }]))
      await expect(ask(['pay'])).rejects.toThrow('argument_value_mismatch')
      expect(session.getHealth()).toMatchObject({ protectionLevel: 'protect', tier: 'compat', durability: 'inactive' })
    }
    expect(await runtime.sql`select count(*)::int as n from sessions`).toEqual(before)
  },
)

proves(
  [
    'environment.api-key',
    'environment.api-url',
    'option.runtime-url',
    'option.runtime-url.default',
    'environment.api-url.default',
  ],
  'key and address come from the options, else from the environment, else the address is the default',
  async () => {
    const seen: string[] = []
    const fetch: typeof globalThis.fetch = async (input, init) => {
      seen.push(`${new URL(String(input)).origin} ${new Headers(init?.headers).get('authorization')}`)
      return Response.json({}, { status: 500 })
    }
    const tryOnce = async (options: ReplayOptions) => {
      const { ask } = agent.start({ contracts, tools, fetch, timeoutMs: 50, ...options })
      await ask(['look']).catch(() => {})
      return seen.splice(0)[0]
    }
    expect(await tryOnce({ apiKey: 'given' })).toBe('http://127.0.0.1:4319 Bearer given')
    vi.stubEnv('COUNTERSIGN_API_KEY', 'from-env')
    vi.stubEnv('COUNTERSIGN_API_URL', 'http://127.0.0.1:9')
    expect(await tryOnce({})).toBe('http://127.0.0.1:9 Bearer from-env')
    expect(await tryOnce({ apiKey: 'given', runtimeUrl: 'http://127.0.0.1:10' })).toBe(
      'http://127.0.0.1:10 Bearer given',
    )
  },
)

proves('session.flush', 'flush() sends the captures of a session that no server keeps', async () => {
  const sent: { captures: { tool_names: string[] }[] }[] = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    expect(new URL(String(input)).pathname).toBe('/api/v1/captures')
    sent.push(JSON.parse(String(init?.body)))
    return Response.json({ accepted: 1, duplicates: 0, rejected: [] })
  }
  const { session, ask } = agent.start({ contracts, apiKey: runtime.key, fetch, mode: 'shadow' })
  agent.provider.enqueue(calls(['look', {}]))
  await ask(['look'])
  expect(sent).toEqual([])
  await session.flush()
  expect(sent.flatMap(({ captures }) => captures)).toMatchObject([
    { tool_names: ['look'], validation: { mode: 'shadow' } },
  ])
  vi.stubEnv('COUNTERSIGN_DISABLE', 'Yes')
  const silent = agent.start({ contracts, apiKey: runtime.key, fetch, mode: 'shadow' })
  agent.provider.enqueue(calls(['look', {}]))
  await silent.ask(['look'])
  await silent.session.flush()
  expect(sent).toHaveLength(1)
})

proves(
  'option.agent.none',
  'no agent means default: in the lookup, the session, its plan and its captures',
  async () => {
    const { compiled_hash, compiled_session } = plan
    await runtime.sql`
    insert into plans (tenant_id, compiled_hash, compiled_session)
    select tenant_id, ${compiled_hash}, ${JSON.stringify(compiled_session)}::text::json from tenants on conflict do nothing`
    await runtime.sql`
    insert into approved_plans (tenant_id, agent, environment, compiled_hash)
    select tenant_id, 'default', 'production', ${compiled_hash} from tenants`
    const { session, ask, asked } = attach(approved)
    agent.provider.enqueue(calls(['look', {}, 'c1']))
    await ask(['look'])
    await session.tools?.look?.({}, { callId: 'c1' })
    const { body } = await runtime.api().loadSession({ params: { session_id: session.sessionId } })
    expect(body.session).toMatchObject({ agent: 'default', plan_source: 'approved' })
    expect(session.getState().agent).toBe('default')
    expect(asked.map(({ search }) => search)).toEqual(['?agent=default&environment=production'])
  },
)
