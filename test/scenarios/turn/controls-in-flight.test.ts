import { expect } from 'vitest'
import type { ReplayOptions } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { callNames, calls, type Started } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const { agent, runtime } = await withAgentAndRuntime()

const contracts: NonNullable<ReplayOptions['contracts']> = [
  { tool: 'look', side_effect: 'read' },
  { tool: 'send', side_effect: 'write', labels: { deny_when: ['untrusted'] } },
]

function begin(options: ReplayOptions, act: (started: Started) => void) {
  const ran: string[] = []
  const tools = { look: () => ran.push('look'), send: () => ran.push('send') }
  const started = agent.start({ contracts, tools, ...options })
  // While the model is being asked.
  agent.provider.answerWith(() => {
    act(started)
    return calls(['look', {}], ['send', {}])
  })
  return { ...started, ran }
}

const LEVELS: [string, () => ReplayOptions][] = [
  ['protect', () => ({})],
  ['govern', () => ({ apiKey: runtime.key, fetch: runtime.fetch })],
]
const CONTROLS: ['session.add-label' | 'session.narrow', string, (started: Started) => void][] = [
  ['session.add-label', 'a label', ({ session }) => session.addLabel('untrusted')],
  ['session.narrow', 'a filter', ({ session }) => session.narrow(['look'])],
]

const UNDER_LABEL: NonNullable<ReplayOptions['contracts']> = [
  { tool: 'look', side_effect: 'read' },
  { tool: 'send', side_effect: 'write', argument_value_invariants: [rule({ path: '$.to', equals: 'ann' })] },
  { tool: 'pay', side_effect: 'write', preconditions: [rule({ requires_prior_tool: 'look' })] },
  { tool: 'ship', side_effect: 'write', checkpoint: rule({ reason: 'after outside text' }) },
]

function rule<Rule extends object>(written: Rule) {
  const message = 'hand it to a colleague'
  return { ...written, when: [{ label: 'untrusted' }], ...('reason' in written ? {} : { message }) }
}

for (const [level, options] of LEVELS) {
  proves('session.add-label', `a label set meanwhile holds in the conditions of all rules, at ${level}`, async () => {
    const asked: string[] = []
    const blocked: unknown[] = []
    const onCheckpoint: NonNullable<ReplayOptions['onCheckpoint']> = ({ checkpoint_id, tool_name }) => {
      asked.push(tool_name)
      return { checkpoint_id, decision: 'deny', decided_by: 'ann', decided_at: new Date().toISOString() }
    }
    const tools = { look: () => 1, send: () => 1, pay: () => 1, ship: () => 1 }
    const onBlock: NonNullable<ReplayOptions['onBlock']> = ({ blocked: blocks }) =>
      blocked.push(...blocks.map(({ tool_name, reason, remedy }) => [tool_name, reason, remedy]))
    const given = { ...options(), contracts: UNDER_LABEL, tools, onCheckpoint, onBlock, gate: 'strip_partial' as const }
    const { session, ask, provider } = { ...agent.start(given), provider: agent.provider }
    provider.answerWith(() => {
      session.addLabel('untrusted')
      return calls(['send', { to: 'eve' }], ['pay', {}], ['ship', {}], ['look', {}])
    })
    expect(callNames(await ask(['look', 'send', 'pay', 'ship']))).toEqual(['look'])
    expect(asked).toEqual(['ship'])
    expect(blocked).toEqual([
      ['send', 'argument_value_mismatch', expect.stringContaining('hand it to a colleague')],
      ['pay', 'precondition_not_met', expect.stringContaining('hand it to a colleague')],
      ['ship', 'checkpoint_denied', expect.any(String)],
    ])
  })

  for (const [id, what, act] of CONTROLS) {
    proves(id, `${what} that is set while the model is asked holds for its answer, at ${level}`, async () => {
      const { session, ask, ran } = begin(options(), act)
      await expect(ask(['look', 'send'])).rejects.toMatchObject({
        decision: { blocked: [{ tool_name: 'send', reason: 'forbidden_tool' }] },
      })
      await expect(session.tools?.send?.({})).rejects.toThrow('did not run')
      expect(ran).toEqual([])
    })
  }

  proves('option.gate.strip-partial', `what such a control denies is stripped alone, at ${level}`, async () => {
    const { session, ask, ran } = begin({ ...options(), gate: 'strip_partial' }, (started) =>
      started.session.addLabel('untrusted'),
    )
    expect(callNames(await ask(['look', 'send']))).toEqual(['look'])
    await session.tools?.look?.({})
    await expect(session.tools?.send?.({})).rejects.toThrow('did not run')
    expect(ran).toEqual(['look'])
    expect(callNames(await ask(['look', 'send']))).toEqual(['look'])
    expect(session.getState()).toMatchObject({ stateVersion: 1, toolCallCounts: { look: 1 } })
  })
}
