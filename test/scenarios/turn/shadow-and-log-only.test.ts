import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import type { ReplayOptions } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { type Agent, callNames, calls, type Message, results, says, startAgent } from '../../support/runtime/agent.js'

const look = { tool: 'look', side_effect: 'read' as const }
const pay = {
  tool: 'pay',
  side_effect: 'write' as const,
  argument_value_invariants: [{ path: '$.amount', lte: 500 }],
  checkpoint: { reason: 'always' },
}

let agent: Agent
beforeAll(async () => {
  agent = await startAgent()
})
afterAll(() => agent.close())

/** Captures land in the store; no server is needed to see them. */
function watched(options: ReplayOptions) {
  const captures: { validation?: object; tool_names: string[] }[] = []
  const store = {
    load: () => null,
    save: () => true,
    appendCapture: (item: unknown) => void captures.push(item as (typeof captures)[number]),
  }
  return { ...agent.start({ store, ...options }), captures }
}

const sentTools = () => agent.provider.requests.at(-1)?.body?.tools as unknown[]

proves(
  [
    'option.mode.shadow',
    'protection.monitor',
    'session.get-last-shadow-delta',
    'health.shadow-evaluations',
    'state.checkpoint.not-in-shadow',
  ],
  'shadow judges everything, records what it would have done, and changes nothing',
  async () => {
    const asked: unknown[] = []
    const { session, ask, captures } = watched({
      contracts: [look, pay],
      mode: 'shadow',
      onCheckpoint: (request) => {
        asked.push(request)
        throw new Error('nobody is to be asked')
      },
    })
    agent.provider.enqueue(calls(['look'], ['pay', { amount: 501 }]), calls(['pay', { amount: 5 }]), says('done'))
    const first = await ask(['look', 'pay', 'other'])
    expect(callNames(first)).toEqual(['look', 'pay'])
    expect(sentTools()).toHaveLength(3)
    expect(session.getLastShadowDelta()).toEqual({
      would_have_narrowed: [{ tool: 'other', reason: 'no_contract' }],
      would_have_blocked: [{ tool_name: 'pay', reason: 'argument_value_mismatch', detail: null }],
      current_phase: null,
      legal_next_phases: [],
    })
    const second = await ask(['look', 'pay'], results(first))
    await ask(['look', 'pay'], results(second))
    expect(asked).toEqual([])
    expect(session.getHealth()).toMatchObject({
      protectionLevel: 'monitor',
      tier: 'compat',
      durability: 'inactive',
      shadowEvaluations: 3,
      totalBlocks: 0,
    })
    await session.flush()
    expect(captures.map(({ validation }) => validation)).toMatchObject([
      {
        mode: 'shadow',
        pass: false,
        calls: [{ decision: 'allow' }, { decision: 'block', reasons: ['argument_value_mismatch'] }],
      },
      { mode: 'shadow', pass: true },
      { mode: 'shadow', pass: true, calls: [] },
    ])
  },
)

proves('session.get-last-shadow-delta.shadow-only', async () => {
  for (const compatEnforcement of ['protective', 'advisory'] as const) {
    const { session, ask } = agent.start({ contracts: look, mode: 'enforce', compatEnforcement })
    agent.provider.enqueue(calls(['look']))
    await ask(['look', 'other'])
    expect(session.getLastShadowDelta()).toBeNull()
  }
})

proves('option.mode.shadow', 'shadow runs tools whatever was judged, and its breaker kills nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-shadow-'))
  const sessionYamlPath = join(folder, 'session.yaml')
  writeFileSync(
    sessionYamlPath,
    'session_limits: { circuit_breaker: { consecutive_blocks: 2, consecutive_errors: 2 } }\n',
  )
  const fails = () => {
    throw new Error('the tool is broken')
  }
  const start = (mode: 'shadow' | 'enforce') =>
    watched({ contracts: look, sessionYamlPath, mode, tools: { other: (args) => args, look: fails } })
  const shadow = start('shadow')
  for (let turn = 0; turn < 4; turn++) {
    agent.provider.enqueue(calls(['other', { turn }]))
    expect(callNames(await shadow.ask(['other']))).toEqual(['other'])
    expect(await shadow.session.tools?.other?.({ turn })).toEqual({ turn })
  }
  let messages: Message[] | undefined
  for (let turn = 0; turn < 4; turn++) {
    agent.provider.enqueue(calls(['look', { turn }]))
    const answer = await shadow.ask(['look'], messages)
    await expect(shadow.session.tools?.look?.({ turn })).rejects.toThrow('the tool is broken')
    messages = results(answer)
  }
  expect(shadow.session.getHealth()).toMatchObject({ killed: false, shadowEvaluations: 8 })
  expect(shadow.session.getState().killed).toBe(false)

  const enforced = start('enforce')
  for (const reason of ['unmatched_tool_blocked', 'the session was killed']) {
    agent.provider.enqueue(calls(['other']))
    await expect(enforced.ask(['other'])).rejects.toThrow(reason)
  }
  expect(enforced.session.getState().killed).toBe(true)
  rmSync(folder, { recursive: true })
})

proves('option.mode.log-only', async () => {
  const { session, ask, captures } = watched({ contracts: [look, pay], mode: 'log-only' })
  agent.provider.enqueue(calls(['pay', { amount: 501 }], ['other']))
  expect(callNames(await ask(['pay', 'other']))).toEqual(['pay', 'other'])
  expect(sentTools()).toHaveLength(2)
  await session.flush()
  expect(captures).toHaveLength(1)
  expect(captures[0]?.tool_names).toEqual(['pay', 'other'])
  expect(captures[0]?.validation).toBeUndefined()
  expect(session.getHealth()).toMatchObject({ protectionLevel: 'monitor', authorityState: 'inactive' })
})

proves('option.mode.enforce', async () => {
  const { session, ask, captures } = watched({ contracts: look, mode: 'enforce' })
  agent.provider.enqueue(calls(['look']), calls(['other']))
  const first = await ask(['look'])
  await expect(ask(['look'], results(first))).rejects.toThrow('unmatched_tool_blocked')
  await session.flush()
  expect(captures.map(({ validation }) => validation)).toMatchObject([{ pass: true }, { pass: false }])
})

proves('session.get-last-trace', async () => {
  const { session, ask } = agent.start({ contracts: [look], mode: 'enforce' })
  agent.provider.enqueue(calls(['look', { at: 'secret-place' }], ['other']))
  await ask(['look', 'other']).catch(() => {})
  const trace = session.getLastTrace()
  expect(trace).toContainEqual(
    expect.objectContaining({ stage: 'narrow', tool: 'other', verdict: 'block', reason: 'no_contract' }),
  )
  expect(trace).toContainEqual(expect.objectContaining({ stage: 'validate', tool: 'look', verdict: 'pass' }))
  expect(trace).toContainEqual(
    expect.objectContaining({ stage: 'validate', tool: 'other', verdict: 'block', reason: 'unmatched_tool_blocked' }),
  )
  expect(trace).toContainEqual(expect.objectContaining({ stage: 'gate', verdict: 'block' }))
  expect(JSON.stringify(trace)).not.toContain('secret-place')
  expect(Object.isFrozen(trace)).toBe(true)
  agent.provider.enqueue(says('done'))
  await ask(['look'])
  expect(JSON.stringify(session.getLastTrace())).not.toContain('other')
})
