import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { ledgerLines } from '../../frameworks/story.js'
import { throughRuntime, withGateways } from '../../support/gateway/gateway.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime()
const gateways = await withGateways(runtime)
const agent = await gateways.agentWith([
  { tool: 'Read', side_effect: 'read' },
  { tool: 'Bash', side_effect: 'write', preconditions: [{ requires_prior_tool: 'Read' }] },
  { tool: 'files__wipe', side_effect: 'destructive', gate: 'allow', labels: { deny_when: ['subagent-explorer'] } },
])

async function hooksOf(at: { readonly url: string }) {
  const session_id = randomUUID()
  const post = (body: object | string, signal: AbortSignal | null = null) =>
    fetch(`${at.url}/${agent}/hooks/claude-code`, {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify({ session_id, cwd: '/', ...body }),
    })
  const hook = async (hook_event_name: string, fields: object) => (await post({ hook_event_name, ...fields })).json()
  return {
    post,
    sessionId: `claude-${session_id}`,
    before: (tool_use_id: string, tool_name: string, tool_input: object = {}) =>
      hook('PreToolUse', { tool_use_id, tool_name, tool_input }),
    after: (tool_use_id: string, tool_name: string, tool_response: unknown = 'ok') =>
      hook('PostToolUse', { tool_use_id, tool_name, tool_response }),
    hook,
  }
}

const denied = (reason: string) => ({
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: expect.stringContaining(reason),
  },
})

proves('gateway.hooks', 'a call is judged before Claude Code runs it, and its word is the receipt', async () => {
  const { before, after, hook, sessionId } = await hooksOf(await gateways.start())
  expect(await before('t1', 'Bash', { command: 'ls' })).toEqual(denied('Read'))
  expect(await before('t2', 'Read', { path: 'a' })).toEqual({})
  expect(await after('t2', 'Read')).toEqual({})
  expect(await before('t3', 'Bash', { command: 'ls' })).toEqual({})
  expect(await hook('PostToolUseFailure', { tool_use_id: 't3', tool_name: 'Bash', error: 'no' })).toEqual({})
  expect(await before('t4', 'Unknown')).toEqual(denied('Unknown'))
  expect(await before('t5', 'mcp__files__wipe')).toEqual({})
  await after('t5', 'mcp__files__wipe')
  await hook('SubagentStart', { agent_id: 'a1', agent_type: 'explorer' })
  expect(await before('t6', 'mcp__files__wipe')).toEqual(denied('label'))
  expect(ledgerLines((await exportOf(api, sessionId)).events)).toEqual([
    'proposed t1 Bash block precondition_not_met',
    'proposed t2 Read allow',
    'receipt t2 succeeded reported',
    'proposed t3 Bash allow',
    'receipt t3 failed reported',
    'proposed t4 Unknown block unmatched_tool_blocked',
    'proposed t5 files__wipe allow',
    'receipt t5 succeeded reported',
    'label',
    expect.stringContaining('proposed t6 files__wipe block'),
  ])
})

proves('gateway.hooks.no-outcome', 'the end of an answer settles its calls of which nothing was heard', async () => {
  const { before, hook, sessionId } = await hooksOf(await gateways.start())
  expect(await before('t1', 'Read')).toEqual({})
  const since = performance.now()
  expect(await hook('PostToolBatch', { tool_calls: [{ tool_name: 'Read', tool_use_id: 't1' }] })).toEqual({})
  expect(await before('t2', 'Bash')).toEqual(denied('Read'))
  expect(performance.now() - since).toBeLessThan(15_000)
  expect(ledgerLines((await exportOf(api, sessionId)).events)).toEqual([
    'proposed t1 Read allow',
    'receipt t1 not_executed reported',
    'proposed t2 Bash block precondition_not_met',
  ])
})

proves('gateway.hooks.no-outcome', 'a call whose client has gone is not judged', async () => {
  const { post, before, after, sessionId } = await hooksOf(await gateways.start())
  expect(await before('t1', 'Read')).toEqual({})
  const leaving = new AbortController()
  const call = { hook_event_name: 'PreToolUse', tool_use_id: 't2', tool_name: 'Read', tool_input: {} }
  const left = post(call, leaving.signal).catch(() => 'left')
  await new Promise((later) => setTimeout(later, 500))
  leaving.abort()
  expect(await left).toBe('left')
  await new Promise((later) => setTimeout(later, 500))
  await after('t1', 'Read')
  expect(await before('t3', 'Bash')).toEqual({})
  expect(ledgerLines((await exportOf(api, sessionId)).events)).toEqual([
    'proposed t1 Read allow',
    'receipt t1 succeeded reported',
    'proposed t3 Bash allow',
  ])
})

proves(
  'gateway.hooks',
  'a gateway without its service denies, and what is no hook is refused with a status that blocks',
  async () => {
    const through = throughRuntime(runtime)
    const away = await gateways.start(
      {},
      {
        fetch: (input, init) =>
          String(input).includes('/api/v1/') ? Promise.reject(new TypeError('x')) : through(input, init),
      },
    )
    const { before, post } = await hooksOf(away)
    expect(await before('t1', 'Read')).toEqual(denied('did not run'))
    const wrong = [
      '{}',
      '[]',
      'x',
      { hook_event_name: 'Stop' },
      { hook_event_name: 'PostToolBatch' },
      { hook_event_name: 'PostToolBatch', tool_calls: [{}] },
      { hook_event_name: 'PreToolUse', tool_name: 'Read' },
      { hook_event_name: 'PreToolUse', tool_name: 1, tool_use_id: 't' },
      { hook_event_name: 'PreToolUse', tool_name: 'Read', tool_use_id: 't', session_id: '../x' },
    ]
    for (const body of wrong) expect([body, (await post(body)).status]).toEqual([body, 400])
  },
)
