import { describe, expect } from 'vitest'
import type { ReplayOptions } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { callNames, calls, results, says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

/** A tool that never ran opens nothing, whatever a loop writes in its place: frameworks turn errors into results. */
const contracts = [
  { tool: 'verify_identity', side_effect: 'read' as const },
  {
    tool: 'close_account',
    side_effect: 'write' as const,
    preconditions: [{ requires_prior_tool: 'verify_identity' }],
  },
]

const { agent, runtime } = await withAgentAndRuntime()

const NAMES = ['verify_identity', 'close_account']
const MODES: [string, () => ReplayOptions][] = [
  ['govern', () => ({ apiKey: runtime.key, fetch: runtime.fetch })],
  ['protect', () => ({})],
]

describe.each(MODES)('%s', (_, where) => {
  const start = (options: ReplayOptions = {}) => {
    let ran = 0
    const tools = {
      verify_identity: () => {
        ran++
        return { verified: true }
      },
      close_account: () => 'closed',
    }
    return { ...agent.start({ contracts, tools, ...where(), ...options }), ran: () => ran }
  }

  proves(
    ['state.pending-call.advances-if-satisfied', 'block.precondition-not-met'],
    'a wrapped tool that was never reached did not succeed, though the program answers its call',
    async () => {
      const { session, ask, diagnostics } = start()
      agent.provider.enqueue(calls(['verify_identity', {}, 'c1']), calls(['close_account', {}, 'c2']))
      const first = await ask(NAMES)
      await expect(ask(NAMES, results(first, 'Error: the identity service is down'))).rejects.toMatchObject({
        decision: { blocked: [{ tool_name: 'close_account' }] },
      })
      expect(session.getState()).toMatchObject({ stateVersion: 0, satisfiedPreconditions: {} })
      expect(diagnostics).toContainEqual(
        expect.objectContaining({
          type: 'replay_protection_level',
          detail: expect.stringContaining('session.tools.verify_identity'),
        }),
      )
    },
  )

  proves(
    'state.pending-call.advances-if-satisfied',
    'a wrapped tool that refused did not succeed, though the loop writes the error as its result',
    async () => {
      const { session, ask, ran } = start()
      agent.provider.enqueue(calls(['verify_identity', { id: 1 }, 'c1']), says('sorry'))
      const first = await ask(NAMES)
      const error = await session.tools?.verify_identity?.({ id: 2 }, { callId: 'c1' }).catch(String)
      await ask(NAMES, results(first, String(error)))
      expect(ran()).toBe(0)
      expect(session.getState()).toMatchObject({ stateVersion: 0, satisfiedPreconditions: {} })
    },
  )

  proves('state.pending-call.advances-if-satisfied', 'a wrapped tool that ran opens what it opens', async () => {
    const { session, ask } = start()
    agent.provider.enqueue(calls(['verify_identity', {}, 'c1']), calls(['close_account', {}, 'c2']))
    const first = await ask(NAMES)
    await session.tools?.verify_identity?.({}, { callId: 'c1' })
    expect(callNames(await ask(NAMES, results(first)))).toEqual(['close_account'])
  })

  proves(
    'turn.receipt.weak-evidence',
    'where the contract asks for evidence, the report of a tool without a wrapper opens nothing',
    async () => {
      const strict = contracts.map((contract) => ({ ...contract, commit_requirement: 'executed' as const }))
      const { session, ask, diagnostics } = start({ contracts: strict, tools: { close_account: () => 'closed' } })
      agent.provider.enqueue(calls(['verify_identity', {}, 'c1']), says('done'))
      await ask(NAMES, results(await ask(NAMES)))
      expect(session.getState()).toMatchObject({ stateVersion: 0 })
      expect(diagnostics).toContainEqual(
        expect.objectContaining({ detail: expect.stringContaining('add verify_identity to the option tools') }),
      )
    },
  )
})

proves(
  ['turn.receipt.weak-evidence', 'state.unreachable.proceeds-locally'],
  'while the server is away the report of a tool without a wrapper opens nothing either',
  async () => {
    let isAway = false
    const fetch: typeof runtime.fetch = (...args) =>
      isAway ? Promise.reject(new TypeError('fetch failed')) : runtime.fetch(...args)
    const strict = contracts.map((contract) => ({ ...contract, commit_requirement: 'executed' as const }))
    const { session, ask } = agent.start({
      contracts: strict,
      tools: { close_account: () => 'closed' },
      apiKey: runtime.key,
      fetch,
      onError: 'allow',
      timeoutMs: 300,
    })
    agent.provider.enqueue(says('hello'), calls(['verify_identity', {}, 'c1']), calls(['close_account', {}, 'c2']))
    await ask(NAMES)
    isAway = true
    const first = await ask(NAMES)
    await expect(ask(NAMES, results(first))).rejects.toMatchObject({
      decision: { blocked: [{ tool_name: 'close_account' }] },
    })
    expect(session.getState().satisfiedPreconditions).toEqual({})
    isAway = false
  },
)

proves('turn.receipt.weak-evidence', 'a session says which preconditions a mere report meets', () => {
  const warned = (tools: NonNullable<ReplayOptions['tools']>) =>
    agent
      .start({ contracts, tools })
      .diagnostics.flatMap((event) => (event.type === 'replay_compile_warning' ? event.warnings : []))
  expect(warned({ close_account: () => null })).toEqual([
    expect.stringContaining('close_account requires verify_identity, which has no wrapper'),
  ])
  expect(warned({ close_account: () => null, verify_identity: () => null })).toEqual([])
})
