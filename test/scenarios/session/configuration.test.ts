import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest'
import {
  observe,
  prepareContracts,
  ReplayConfigError,
  type ReplayOptions,
  replay,
} from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { type Agent, startAgent } from '../../support/runtime/agent.js'

const look = { tool: 'look', side_effect: 'read' as const }

let agent: Agent
let folder: string
beforeAll(async () => {
  agent = await startAgent()
  folder = mkdtempSync(join(tmpdir(), 'countersign-configuration-'))
})
beforeEach(() => void vi.stubEnv('COUNTERSIGN_API_KEY', undefined))
afterEach(() => void vi.unstubAllEnvs())
afterAll(async () => {
  await agent.close()
  rmSync(folder, { recursive: true })
})

function conditionOf(options: ReplayOptions, client: object = agent.openai()): string | null {
  try {
    replay(client, options)
  } catch (error) {
    if (error instanceof ReplayConfigError) return error.condition
    throw error
  }
  throw new Error('nothing was thrown')
}

function sessionFile(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

proves(['error.config', 'error.config.policy-without-principal', 'auth.principal.missing'], () => {
  const policy = { cedar: 'permit (principal, action, resource);' }
  expect(conditionOf({ contracts: { ...look, policy } })).toBe('policy_without_principal')
  const sessionYamlPath = sessionFile('policy.yaml', 'policy: { cedar: "permit (principal, action, resource);" }\n')
  expect(conditionOf({ contracts: look, sessionYamlPath })).toBe('policy_without_principal')
})

proves('shared-limit.server-only', () => {
  const limits = 'shared_limits: [{ name: looks, tool: look, per: principal, max_calls: 3, window: 24h }]\n'
  const sessionYamlPath = sessionFile('shared.yaml', limits)
  const sticky = { ...look, labels: { adds: ['seen'], sticks_to: 'principal' as const } }
  const messageOf = (options: ReplayOptions): string => {
    try {
      replay(agent.openai(), options)
    } catch (error) {
      if (error instanceof ReplayConfigError) return error.message
    }
    throw new Error('nothing was refused')
  }
  expect(messageOf({ contracts: look, sessionYamlPath })).toContain('pass apiKey (or COUNTERSIGN_API_KEY) and tools')
  // A store keeps one session, and knows nothing of the others.
  const store = { load: () => null, save: () => true }
  expect(messageOf({ contracts: look, sessionYamlPath, store })).toContain('which hold over all sessions')
  expect(messageOf({ contracts: sticky })).toContain('labels that stick to the principal')
  const server = { apiKey: `csk_${'a'.repeat(32)}`, tools: { look: () => null } }
  expect(messageOf({ contracts: look, sessionYamlPath, ...server })).toContain('pass the option principal')
})

proves('error.config.constraints-without-wrapper', () => {
  const contracts = { ...look, execution_constraints: { arguments: [{ path: '$.at', exists: true }] } }
  expect(conditionOf({ contracts })).toBe('constraints_without_wrapper')
  expect(conditionOf({ contracts, tools: { other: () => null } })).toBe('constraints_without_wrapper')
  agent.start({ contracts, tools: { look: () => null } })
})

proves('error.config.compilation-failed.circular', () => {
  const sessionYamlPath = sessionFile(
    'circle.yaml',
    'phases: [{ name: a, initial: true }, { name: b }, { name: end, terminal: true }]\ntransitions: { a: [b, end], b: [b] }\n',
  )
  expect(conditionOf({ contracts: look, sessionYamlPath })).toBe('compilation_failed')
})

proves('error.config.compilation-failed.unreachable', () => {
  const sessionYamlPath = sessionFile(
    'unreachable.yaml',
    'phases: [{ name: a, initial: true }, { name: lost }, { name: end, terminal: true }]\ntransitions: { a: [end], lost: [end] }\n',
  )
  expect(conditionOf({ contracts: look, sessionYamlPath })).toBe('compilation_failed')
})

proves('error.config.compilation-failed.observed', async () => {
  const client = agent.openai()
  const handle = observe(client, { apiKey: `csk_${'a'.repeat(32)}`, endpoint: agent.provider.url })
  expect(conditionOf({ contracts: look }, client)).toBe('compilation_failed')
  await handle.restore()
  await replay(client, { contracts: look }).restore()
})

proves('error.config.compilation-failed.attached', async () => {
  const { session, original } = agent.start({ contracts: look })
  expect(conditionOf({ contracts: look }, original)).toBe('compilation_failed')
  await session.restore()
  await replay(original, { contracts: look }).restore()
})

proves('option.on-checkpoint.required', () => {
  const contracts = { ...look, checkpoint: { reason: 'look first' } }
  expect(conditionOf({ contracts })).toBe('compilation_failed')
  const ask = { ...look, sources: [{ path: '$.at', from: ['user' as const], otherwise: 'ask' as const }] }
  expect(conditionOf({ contracts: ask })).toBe('compilation_failed')
  agent.start({ contracts, mode: 'shadow' })
})

proves('event.unsupported-client', 'a client of another shape is reported and refused', () => {
  const reported: unknown[] = []
  expect(conditionOf({ contracts: look, diagnostics: (event) => reported.push(event) }, { chat: {} })).toBe(
    'compilation_failed',
  )
  expect(reported).toEqual([{ type: 'unsupported_client', detail: expect.any(String) }])
})

proves('error.config', 'whatever is wrong is refused at once, with its name', () => {
  const wrong: [string, object][] = [
    ['contracts', {}],
    ['option onerror is unknown: did you mean "onError"?', { contracts: look, onerror: 'allow' }],
    ['mode', { contracts: look, mode: 'loose' }],
    ['gate', { contracts: look, gate: 'none' }],
    ['tools must have a function for "look", not "no function"', { contracts: look, tools: { look: 'no function' } }],
    ['runtimeUrl', { contracts: look, runtimeUrl: 'ftp://somewhere' }],
    ['runtimeUrl must be an http or https URL', { contracts: look, runtimeUrl: 'localhost:4319' }],
    ['without /api/v1', { contracts: look, runtimeUrl: 'http://127.0.0.1:4319/api/v1/' }],
    ['principal', { contracts: look, principal: () => null }],
    ['principal must be at most 8192 bytes', { contracts: look, principal: 'x'.repeat(9_000) }],
    ['environment', { contracts: look, environment: 'prod' }],
    ['labels', { contracts: look, labels: Array.from({ length: 129 }, (_, index) => `l${index}`) }],
    ['maxUnguardedCalls must be a whole number from 0 to 1000000, not -1', { contracts: look, maxUnguardedCalls: -1 }],
    ['onBlock must be a function, not "no function"', { contracts: look, onBlock: 'no function' }],
    ['did you mean "contractsDir"?', { contractDir: 'contracts' }],
    ['did you mean "apiKey"?', { contracts: look, apikey: 'csk_x' }],
    ['did you mean "runtimeUrl"?', { contracts: look, endpoint: 'http://127.0.0.1:4319' }],
    ['not "enforced": did you mean "enforce"?', { contracts: look, mode: 'enforced' }],
    ['contractsDir must be a path', { contractsDir: null }],
    ['contractsDir must be a path', { contractsDir: 5 }],
    ['fileURLToPath', { contractsDir: new URL('file:///contracts') }],
    ['sessionYamlPath must be a path', { contracts: look, sessionYamlPath: 5 }],
    ['pass a folder as contractsDir', { contracts: 'contracts' }],
    ['the one result of prepareContracts', { contracts: [prepareContracts(look)] }],
    ['tools must be an object', { contracts: look, tools: new Map([['look', () => null]]) }],
    ['tools must be an object', { contracts: look, tools: [() => null] }],
    ['takeover must be true or false', { contracts: look, takeover: 'no' }],
    ['store must have', { contracts: look, store: {} }],
    ['fetch', { contracts: look, fetch: 'no function' }],
    ['labels contains "a b"', { contracts: look, labels: ['a b'] }],
    ['did you mean "workflowId"?', { contracts: look, workflow: { workflowID: 'w', role: 'r' } }],
    ['workflow must be an object', { contracts: look, workflow: 'w' }],
    ['contracts', { contracts: { tool: 'look', side_efect: 'read' } }],
    ['regex', { contracts: { ...look, argument_value_invariants: [{ path: '$.a', regex: '(?<=a)b' }] } }],
  ]
  for (const [named, options] of wrong) {
    expect(() => replay(agent.openai(), options as ReplayOptions), JSON.stringify(options)).toThrow(
      expect.objectContaining({ condition: 'compilation_failed', message: expect.stringContaining(named) }),
    )
  }
  for (const options of [null, 'csk_x']) {
    const call = () => Reflect.apply(replay, undefined, [agent.openai(), options])
    expect(call).toThrow(expect.objectContaining({ message: expect.stringContaining('must be an object') }))
  }
})

proves('session.narrow', 'a text is not taken for a list of its letters', () => {
  const { session } = agent.start({ contracts: look })
  expect(() => Reflect.apply(session.narrow, session, ['look'])).toThrow(
    /narrow takes an array of tool names, not "look"/,
  )
})

proves('option.contracts-dir', 'a folder is read whole or not at all', () => {
  const pack = mkdtempSync(join(folder, 'pack-'))
  writeFileSync(join(pack, 'look.yaml'), 'tool: look\nside_effect: read\n')
  agent.start({ contractsDir: pack })
  writeFileSync(join(pack, 'bomb.yaml'), 'a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\ntool: bomb\n')
  expect(conditionOf({ contractsDir: pack })).toBe('compilation_failed')
  rmSync(join(pack, 'bomb.yaml'))
  symlinkSync(sessionFile('outside.yaml', 'tool: outside\nside_effect: read\n'), join(pack, 'outside.yaml'))
  expect(conditionOf({ contractsDir: pack })).toBe('compilation_failed')
  expect(conditionOf({ contractsDir: `${pack}/../nowhere` })).toBe('compilation_failed')
})

proves('option.require-protection', 'a session below the level that is asked for does not start', () => {
  const contracts = [{ tool: 'look' }]
  const start = (options: ReplayOptions) => () => agent.start({ contracts, ...options })
  expect(start({ requireProtection: 'govern', tools: {} })).toThrow('COUNTERSIGN_API_KEY')
  expect(start({ requireProtection: 'govern', apiKey: `cs_${'a'.repeat(32)}` })).toThrow('tools')
  expect(start({ requireProtection: 'protect', mode: 'shadow' })).toThrow('enforce')
  expect(start({ requireProtection: 'protect', compatEnforcement: 'advisory' })).toThrow('protective')
  expect(() => agent.start({ requireProtection: 'protect', mode: 'log-only' })).toThrow('enforce')
  expect(start({ requireProtection: 'protect' })).not.toThrow()
})

proves('option.api-key.missing-reported', 'tools or an agent without a key are reported, unless that is meant', () => {
  const contracts = [{ tool: 'look' }]
  const reports = (options: ReplayOptions) =>
    agent.start({ contracts, ...options }).diagnostics.filter(({ type }) => type === 'replay_protection_level')
  const expected = [
    expect.objectContaining({ level: 'protect', detail: expect.stringContaining('COUNTERSIGN_API_KEY') }),
  ]
  const tools = { look: () => 1 }
  const sessionYamlPath = sessionFile('named.yaml', 'agent: support\n')
  for (const options of [{ tools }, { agent: 'support' }, { sessionYamlPath }, { tools, agent: 'support' }]) {
    expect(reports(options)).toEqual(expected)
    expect(reports({ ...options, requireProtection: 'protect' })).toEqual([])
  }
  expect(reports({})).toEqual([])
})

proves('option.api-key.empty-reported', 'a key of blanks is reported in every mode, also where none is needed', () => {
  const reports = (options: ReplayOptions) => {
    const { diagnostics } = agent.start({ contracts: [{ tool: 'look' }], ...options })
    return diagnostics.flatMap((event) => (event.type === 'replay_protection_level' ? [event.detail] : []))
  }
  const tools = { look: () => 1 }
  const levels: ReplayOptions[] = [
    {},
    { requireProtection: 'protect' },
    { mode: 'shadow' },
    { mode: 'log-only', tools },
  ]
  for (const options of levels) {
    expect(reports({ ...options, apiKey: ' ' })).toEqual([expect.stringContaining('the option apiKey is empty')])
  }
  vi.stubEnv('COUNTERSIGN_API_KEY', '')
  for (const options of levels) {
    expect(reports(options)).toEqual([expect.stringContaining('COUNTERSIGN_API_KEY is empty')])
  }
  vi.stubEnv('COUNTERSIGN_API_KEY', undefined)
  expect(reports({})).toEqual([])
})
