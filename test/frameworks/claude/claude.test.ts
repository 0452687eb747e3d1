import { expect } from 'vitest'
import { z } from 'zod'
import { claudeHooks, claudeServer } from '../../../packages/sdk/src/adapters/claude/index.js'
import { openSession, type ReplayOptions } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { ledgerLines } from '../story.js'
import { tellCases } from '../tell-cases.js'
import { claudeHooksFace } from './claude-face.js'

const { runtime } = await withRuntime()

tellCases(claudeHooksFace, runtime, (...story) => proves('face.claude', ...story))

const contracts = [
  { tool: 'Bash', side_effect: 'write' as const, argument_value_invariants: [{ path: '$.command', regex: '^echo ' }] },
  {
    tool: 'bank__pay',
    side_effect: 'write' as const,
    aggregates: [{ name: 'paid', path: '$.amount', function: 'sum' as const, lte: 5 }],
  },
]

function govern(options: ReplayOptions = {}) {
  const session = openSession({ contracts, apiKey: runtime.key, fetch: runtime.fetch, agent: 'claude', ...options })
  const hooks = claudeHooks(session)
  /**
   * What the runtime does with one call: asks the hook, runs it unless that denies it, tells the outcome and what it has
   * run. `ended` differs from the input where somebody has changed that; null where the runtime is lost.
   */
  const call = async (
    id: string,
    tool_name: string,
    tool_input: object,
    ended: { input?: object; event?: 'PostToolUse' | 'PostToolUseFailure' } | null = {},
  ): Promise<string> => {
    const about = { tool_name, tool_input, tool_use_id: id }
    const [{ hooks: [before] = [] } = { hooks: [] }] = hooks.PreToolUse
    const said = JSON.stringify(await before?.({ hook_event_name: 'PreToolUse', ...about }, id))
    if (said.includes('"deny"')) return said
    if (ended === null) return 'lost'
    const { input = tool_input, event = 'PostToolUse' } = ended
    const told = event === 'PostToolUse' ? { tool_response: 'ok' } : { error: 'exit code 1' }
    await hooks[event][0]?.hooks[0]?.({ hook_event_name: event, ...about, tool_input: input, ...told }, id)
    return 'ran'
  }
  const lines = async () => {
    await session.close()
    return ledgerLines((await exportOf(runtime.api(), session.sessionId)).events)
  }
  return { session, hooks, call, lines }
}

proves('face.claude', 'a call is judged before the runtime runs it, and its outcome is reported', async () => {
  const { call, lines } = govern()
  expect(await call('c1', 'Bash', { command: 'rm -rf x' })).toContain('argument_value_mismatch')
  expect(await call('c2', 'Bash', { command: 'echo hi' })).toBe('ran')
  expect(await call('c3', 'Write', {})).toContain('unmatched_tool_blocked')
  expect(await lines()).toEqual([
    'proposed c1 Bash block argument_value_mismatch',
    'proposed c2 Bash allow',
    'receipt c2 succeeded reported',
    'proposed c3 Write block unmatched_tool_blocked',
    'ended',
  ])
})

proves('face.claude', 'calls side by side cannot together pass a limit, and MCP names lose their prefix', async () => {
  const { call, lines } = govern()
  const ends = await Promise.all(['c1', 'c2'].map((id) => call(id, 'mcp__bank__pay', { amount: 5 })))
  expect(ends.filter((end) => end === 'ran')).toHaveLength(1)
  expect(await lines()).toEqual([
    'proposed c1 bank__pay allow',
    'proposed c2 bank__pay block aggregate_limit_exceeded',
    'receipt c1 succeeded reported',
    'ended',
  ])
})

proves('face.claude', 'of two calls side by side one is denied, and a tool that failed has failed', async () => {
  const { call, lines } = govern()
  const ends = await Promise.all([
    call('c1', 'Bash', { command: 'rm -rf x' }),
    call('c2', 'Bash', { command: 'echo hi > /nowhere/x' }, { event: 'PostToolUseFailure' }),
  ])
  expect(ends).toEqual([expect.stringContaining('argument_value_mismatch'), 'ran'])
  expect(await lines()).toEqual([
    'proposed c1 Bash block argument_value_mismatch',
    'proposed c2 Bash allow',
    'receipt c2 failed reported',
    'ended',
  ])
})

proves('face.claude', 'a call that ran with another input than was judged is unknown', async () => {
  const { call, lines } = govern()
  await call('c1', 'Bash', { command: 'echo hi', timeout: 5 }, { input: { timeout: 5, command: 'echo hi' } })
  await call('c2', 'Bash', { command: 'echo hi' }, { input: { command: 'rm -rf x' } })
  expect(await lines()).toEqual([
    'proposed c1 Bash allow',
    'receipt c1 succeeded reported',
    'proposed c2 Bash allow',
    'receipt c2 unknown reported',
    'ended',
  ])
})

proves('face.claude', 'a run of which the runtime told nobody is unknown, never succeeded', async () => {
  const { session, call } = govern()
  expect(await call('c1', 'Bash', { command: 'echo hi' }, null)).toBe('lost')
  const next = govern({ sessionId: session.sessionId, takeover: true })
  await next.call('c2', 'Bash', { command: 'echo again' })
  expect(await next.lines()).toEqual([
    'proposed c1 Bash allow',
    'recovered',
    'receipt c1 unknown reported',
    'proposed c2 Bash allow',
    'receipt c2 succeeded reported',
    'ended',
  ])
  await session.close()
})

proves('face.claude', 'nothing runs while the server is down', async () => {
  const { call, session } = govern({
    fetch: async () => {
      throw new TypeError('fetch failed')
    },
  })
  expect(await call('c1', 'Bash', { command: 'echo hi' })).toContain('did not run')
  await session.close()
})

/** Calls a hook as the runtime does for the agent that `about` names. */
const tell = (hooks: ReturnType<typeof claudeHooks>, event: keyof typeof hooks, about: object): Promise<object> =>
  hooks[event][0]?.hooks[0]?.({ hook_event_name: event, ...about }, undefined) ?? Promise.resolve({})

proves('face.claude', 'a sub-agent of the runtime does not wait for the call that started it', async () => {
  const { hooks, lines } = govern({ contracts: [...contracts, { tool: 'Agent', side_effect: 'read' }] })
  const main = { session_id: 'q1', tool_name: 'Agent', tool_input: { prompt: 'pay' }, tool_use_id: 'c1' }
  expect(await tell(hooks, 'PreToolUse', main)).toEqual({})
  const other = { ...main, tool_use_id: 'c2' }
  const sub = { ...main, agent_id: 'a1', tool_name: 'Bash', tool_input: { command: 'echo hi' }, tool_use_id: 's1' }
  // Shown meanwhile, so that it waits for the first one to end or to be passed by.
  const started = tell(hooks, 'PreToolUse', other)
  const judged = tell(hooks, 'PreToolUse', sub)
  expect(await started).toEqual({})
  await tell(hooks, 'PostToolUse', { ...other, tool_response: 'done' })
  expect(await judged).toEqual({})
  await tell(hooks, 'PostToolUse', { ...sub, tool_response: 'hi' })
  await tell(hooks, 'PostToolBatch', { ...sub, tool_calls: [sub] })
  await tell(hooks, 'PostToolUse', { ...main, tool_response: 'done' })
  const ledger = await lines()
  expect(ledger.filter((line) => line.includes(' c1 '))).toEqual([
    'proposed c1 Agent allow',
    'receipt c1 unknown reported',
  ])
  expect(ledger).toContain('receipt s1 succeeded reported')
  expect(ledger).toContain('receipt c2 succeeded reported')
})

proves('face.claude', 'nobody waits for a call of a prompt that was interrupted', async () => {
  const { hooks, lines } = govern()
  const call = { session_id: 'q1', tool_name: 'Bash', tool_input: { command: 'echo hi' } }
  await tell(hooks, 'PreToolUse', { ...call, prompt_id: 'p1', tool_use_id: 'c1' })
  expect(await tell(hooks, 'PreToolUse', { ...call, prompt_id: 'p2', tool_use_id: 'c2' })).toEqual({})
  await tell(hooks, 'PostToolUse', { ...call, prompt_id: 'p2', tool_use_id: 'c2', tool_response: 'hi' })
  expect(await lines()).toEqual([
    'proposed c1 Bash allow',
    'receipt c1 unknown reported',
    'proposed c2 Bash allow',
    'receipt c2 succeeded reported',
    'ended',
  ])
})

proves('face.claude', 'the end of an answer settles no call of another query', async () => {
  const { hooks, lines } = govern()
  const call = { session_id: 'q1', tool_name: 'Bash', tool_input: { command: 'echo hi' }, tool_use_id: 'c1' }
  await tell(hooks, 'PreToolUse', call)
  await tell(hooks, 'PostToolBatch', { session_id: 'q2', tool_calls: [{ tool_use_id: 'd1' }] })
  await tell(hooks, 'PostToolUse', { ...call, tool_response: 'hi' })
  expect(await lines()).toContain('receipt c1 succeeded reported')
})

proves('face.claude', 'what an answer proposed and a permission of the runtime refused did not run', async () => {
  const { hooks, lines } = govern()
  const call = { session_id: 'q1', tool_name: 'Bash', tool_input: { command: 'echo hi' }, tool_use_id: 'c1' }
  await tell(hooks, 'PreToolUse', call)
  await tell(hooks, 'PostToolBatch', { session_id: 'q1', tool_calls: [call] })
  expect(await lines()).toContain('receipt c1 not_executed reported')
})

/** A server with one tool `pay`, and how the runtime calls it: it asks the hook, runs the tool, tells the outcome. */
function governPay(handler: (args: object, extra: unknown) => Promise<object>, rules: object = {}) {
  const contract = { tool: 'bank__pay', side_effect: 'write' as const, ...rules }
  const { session, hooks, lines } = govern({ contracts: [contract] })
  const inputSchema = { amount: z.number(), currency: z.string().default('EUR') }
  const server = claudeServer(session, { name: 'bank', tools: [{ name: 'pay', inputSchema, handler }] })
  const run = (args: object, id: string) =>
    server.tools[0]!.handler(args as never, { _meta: { 'claudecode/toolUseId': id }, requestId: 1 })
  const call = async (id: string, tool_input: object, given = tool_input) => {
    const about = { session_id: 'q1', tool_name: 'mcp__bank__pay', tool_input, tool_use_id: id }
    const said = await tell(hooks, 'PreToolUse', about)
    const result = (await run(given, id)) as { content: unknown; isError?: boolean }
    const event = result.isError === true ? 'PostToolUseFailure' : 'PostToolUse'
    await tell(hooks, event, { ...about, tool_input: given, tool_response: result.content })
    return { said, result }
  }
  return { run, call, lines }
}

proves(
  'face.claude',
  'a tool of the program runs only for a judged call, with what its schema makes of it',
  async () => {
    const ran: object[] = []
    const { run, call, lines } = governPay(async (args) => {
      ran.push(args)
      return { content: [{ type: 'text', text: 'paid' }] }
    })
    expect(await run({ amount: 5 }, 'c0')).toMatchObject({ isError: true })
    await call('c1', { amount: 5 }, { amount: 5, currency: 'USD' })
    expect(await call('c2', { amount: 5 }, { amount: 6 })).toMatchObject({ result: { isError: true } })
    expect(ran).toEqual([{ amount: 5, currency: 'EUR' }])
    expect(await lines()).toEqual([
      'proposed c1 bank__pay allow',
      'receipt c1 succeeded executed',
      'proposed c2 bank__pay allow',
      'receipt c2 not_executed reported',
      'ended',
    ])
  },
)

proves(
  'face.claude',
  'a tool of the program that says it failed has failed, and says so in its own words',
  async () => {
    const refusal = { content: [{ type: 'text', text: 'no money left' }], isError: true }
    const { call, lines } = governPay(async () => refusal)
    expect((await call('c1', { amount: 5 })).result).toEqual(refusal)
    expect(await lines()).toContain('receipt c1 failed executed')
  },
)

proves('face.claude', 'a person whom the runtime asks approves what a tool of the program does', async () => {
  const { call, lines } = governPay(async () => ({ content: [] }), {
    checkpoint: { when: [{ path: '$.amount', gt: 50 }], reason: 'large payment' },
  })
  const { said } = await call('c1', { amount: 60 })
  expect(said).toMatchObject({ hookSpecificOutput: { permissionDecision: 'ask' } })
  expect(await lines()).toContain('receipt c1 succeeded executed approve')
})
