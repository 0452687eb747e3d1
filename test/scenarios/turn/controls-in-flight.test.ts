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

for (const [level, options] of LEVELS) {
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
