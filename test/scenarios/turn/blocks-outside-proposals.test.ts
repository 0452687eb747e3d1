import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, vi } from 'vitest'
import {
  type EnforcementDecision,
  ReplayContractError,
  ReplayKillError,
  type ReplayOptions,
} from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { calls, results } from '../../support/runtime/agent.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const contracts = [
  { tool: 'look', side_effect: 'read' as const },
  { tool: 'pay', side_effect: 'write' as const, checkpoint: { reason: 'a payment' } },
  {
    tool: 'send',
    side_effect: 'write' as const,
    execution_constraints: { arguments: [{ path: '$.to', regex: '@example\\.test$' }] },
  },
]

const { agent, runtime } = await withAgentAndRuntime()
let folder: string
let breaker: string
let limited: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-blocks-'))
  breaker = join(folder, 'breaker.yaml')
  limited = join(folder, 'limited.yaml')
  writeFileSync(breaker, 'session_limits: { circuit_breaker: { consecutive_blocks: 2 } }\n')
  writeFileSync(limited, 'session_limits: { max_steps: 1, circuit_breaker: { consecutive_blocks: 2 } }\n')
})
afterAll(() => rmSync(folder, { recursive: true }))

const deny: NonNullable<ReplayOptions['onCheckpoint']> = ({ checkpoint_id }) => ({
  ...{ checkpoint_id, decision: 'deny', decided_by: 'ann', decided_at: new Date().toISOString() },
})

function start(level: string, options: ReplayOptions = {}) {
  const blocks: EnforcementDecision[] = []
  const started = agent.start({
    contracts,
    tools: { look: () => 'found', pay: () => 'paid', send: () => 'sent' },
    onCheckpoint: deny,
    onBlock: (decision) => blocks.push(decision),
    ...(level === 'govern' && { apiKey: runtime.key, fetch: runtime.fetch }),
    ...options,
  })
  const reasons = () => blocks.map(({ blocked }) => blocked[0]?.reason)
  const counts = () => {
    const { totalBlockCount, consecutiveBlockCount } = started.session.getState()
    return [totalBlockCount, consecutiveBlockCount, started.session.getHealth().totalBlocks]
  }
  const onServer = async () => {
    const params = { session_id: started.session.sessionId }
    return (await runtime.api().loadSession({ params, query: {} })).body.session
  }
  return { ...started, reasons, counts, onServer }
}

describe.each(['protect', 'govern'])('%s', (level) => {
  proves(
    ['block.outside-proposal.counted', 'block.outside-proposal.reported', 'block.outside-proposal.recorded'],
    `a denied checkpoint, a constraint and a limit are blocks like any other (${level})`,
    async () => {
      const { session, ask, reasons, counts, onServer } = start(level, { sessionYamlPath: limited })
      agent.provider.enqueue(calls(['pay', {}, 'p1']))
      await expect(ask(['pay'])).rejects.toBeInstanceOf(ReplayContractError)
      expect([counts(), reasons()]).toEqual([[1, 1, 1], ['checkpoint_denied']])

      agent.provider.enqueue(calls(['look', {}, 'l1']))
      const seen = await ask(['look'])
      await session.tools?.look?.({}, { callId: 'l1' })
      expect(counts()).toEqual([1, 0, 1])

      await expect(ask(['look'], results(seen))).rejects.toThrow('session_limit_exceeded')
      expect([counts(), reasons()]).toEqual([
        [2, 1, 2],
        ['checkpoint_denied', 'session_limit_exceeded'],
      ])
      if (level === 'protect') return
      expect((await onServer()).state).toMatchObject({ totalBlockCount: 2, consecutiveBlockCount: 1 })
      const { events } = await exportOf(runtime.api(), session.sessionId)
      expect(events.map(({ type }) => type)).toEqual([
        ...['created', 'proposal', 'receipts', 'proposal', 'receipts', 'turn_blocked'],
      ])
      expect(events[2]?.body).toMatchObject({ receipts: [{ block_reason: 'checkpoint_denied' }] })
      expect(events[5]?.body).toMatchObject({ reason: 'session_limit_exceeded', detail: 'max_steps' })
    },
  )

  proves(
    ['block.outside-proposal.counted', 'block.outside-proposal.reported', 'block.outside-proposal.recorded'],
    `a tool that its wrapper refuses is a block like any other (${level})`,
    async () => {
      const { session, ask, reasons, counts } = start(level)
      agent.provider.enqueue(calls(['send', { to: 'eve@elsewhere.test' }, 's1']))
      await ask(['send'])
      expect(counts()).toEqual([0, 0, 0])
      const refused = session.tools?.send?.({ to: 'eve@elsewhere.test' }, { callId: 's1' })
      await expect(refused).rejects.toThrow('did not run')
      expect([counts(), reasons()]).toEqual([[1, 1, 1], ['execution_constraint_violated']])

      agent.provider.enqueue(calls(['look', {}, 'l1']))
      await ask(['look'])
      session.kill()
      await expect(session.tools?.look?.({}, { callId: 'l1' })).rejects.toThrow('killed')
      expect(reasons()).toEqual(['execution_constraint_violated', 'killed'])
      expect(counts()).toEqual([2, 2, 2])
      if (level === 'protect') return
      await session.flush()
      const { events } = await exportOf(runtime.api(), session.sessionId)
      const stopped = events.filter(({ type }) => type === 'receipts').map(({ body }) => body)
      expect(stopped).toMatchObject([
        { receipts: [{ block_reason: 'execution_constraint_violated' }] },
        { receipts: [{ block_reason: 'killed' }] },
      ])
    },
  )

  proves(
    'block.outside-proposal.breaker',
    `denials and refused turns in a row trip the breaker (${level})`,
    async () => {
      const denied = start(level, { sessionYamlPath: breaker })
      agent.provider.enqueue(calls(['pay', { n: 1 }, 'p1']), calls(['pay', { n: 2 }, 'p2']))
      await expect(denied.ask(['pay'])).rejects.toBeInstanceOf(ReplayContractError)
      expect(denied.session.getState()).toMatchObject({ consecutiveBlockCount: 1, killed: false })
      await denied.ask(['pay']).catch(() => {})
      expect(denied.session.getState()).toMatchObject({ consecutiveBlockCount: 2, killed: true })
      await expect(denied.ask(['pay'])).rejects.toBeInstanceOf(ReplayKillError)

      const spent = start(level, { sessionYamlPath: limited })
      agent.provider.enqueue(calls(['look', {}, 'l1']))
      const seen = await spent.ask(['look'])
      await spent.session.tools?.look?.({}, { callId: 'l1' })
      await expect(spent.ask(['look'], results(seen))).rejects.toThrow('session_limit_exceeded')
      await expect(spent.ask(['look'], results(seen))).rejects.toThrow()
      await vi.waitFor(() => expect(spent.session.getState().killed).toBe(true))
      if (level === 'govern') expect((await spent.onServer()).status).toBe('KILLED')
    },
  )
})

proves('block.outside-proposal.counted', 'a session that only watches blocks nothing, and counts nothing', async () => {
  const watching: ReplayOptions[] = [{ mode: 'shadow' }, { compatEnforcement: 'advisory' }]
  for (const options of watching) {
    const { ask, counts } = start('protect', { sessionYamlPath: limited, ...options })
    agent.provider.enqueue(calls(['steal', {}]), calls(['steal', {}]))
    await ask(['look'])
    await ask(['look'])
    expect(counts()).toEqual([0, 0, 0])
  }
})

proves('block.outside-proposal.counted', 'a refused preflight that is asked again is one block', async () => {
  const { session, ask } = start('govern', { sessionYamlPath: limited })
  agent.provider.enqueue(calls(['look', {}, 'l1']))
  await ask(['look'])
  await session.tools?.look?.({}, { callId: 'l1' })
  const { fence, state_version } = (
    await runtime.api().loadSession({ params: { session_id: session.sessionId }, query: {} })
  ).body.session
  const twice = { prepared_request_id: 'prq_lost_answer', fence, state_version, tools: [{ name: 'look' }] }
  const preflight = () => runtime.api().preflight({ params: { session_id: session.sessionId }, body: twice })
  const first = await preflight()
  expect(first.body).toMatchObject({ outcome: 'blocked', reason: 'session_limit_exceeded', status: 'ACTIVE' })
  expect((await preflight()).body).toEqual(first.body)
  const { body } = await runtime.api().loadSession({ params: { session_id: session.sessionId }, query: {} })
  expect(body.session.state.totalBlockCount).toBe(1)
})
