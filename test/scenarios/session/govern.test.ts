import { expect } from 'vitest'
import { ReplayContractError } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { callNames, calls, results, says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const { agent, runtime } = await withAgentAndRuntime()

proves(
  [
    'protection.govern',
    'turn.cycle',
    'option.api-key',
    'option.tools',
    'session.tools',
    'session.client',
    'health.tier',
    'health.durability.server',
  ],
  'a governed turn: preflight, proposal, wrapped tool, receipt, and the client knows what the server knows',
  async () => {
    const paid: unknown[] = []
    const { session, ask } = agent.start({
      contracts: [
        { tool: 'find_customer', side_effect: 'read' },
        {
          tool: 'pay',
          side_effect: 'financial',
          gate: 'allow',
          preconditions: [{ requires_prior_tool: 'find_customer' }],
          argument_value_invariants: [{ path: '$.amount', lte: 500 }],
        },
      ],
      apiKey: runtime.key,
      fetch: runtime.fetch,
      tools: {
        find_customer: () => ({ id: 'c1' }),
        pay: (args, context) => {
          paid.push([args, context.callId])
          return { ok: true }
        },
      },
    })
    agent.provider.enqueue(
      calls(['find_customer', { name: 'Ann' }, 'c1']),
      calls(['pay', { amount: 5 }, 'c2']),
      says('done'),
    )
    const first = await ask(['find_customer', 'pay'])
    expect(agent.provider.requests.at(-1)?.body?.tools).toHaveLength(1)
    expect(callNames(first)).toEqual(['find_customer'])
    await session.tools?.find_customer?.({ name: 'Ann' })
    expect(session.getState()).toMatchObject({ stateVersion: 1, totalToolCalls: 1 })
    const second = await ask(['find_customer', 'pay'], results(first))
    expect(callNames(second)).toEqual(['pay'])
    await session.tools?.pay?.({ amount: 5 }, { callId: 'c2' })
    await expect(session.tools?.pay?.({ amount: 6 })).rejects.toThrow(ReplayContractError)
    expect(paid).toEqual([[{ amount: 5 }, 'c2']])
    await ask(['find_customer'], results(second))
    expect(session.getHealth()).toMatchObject({
      status: 'healthy',
      protectionLevel: 'govern',
      tier: 'strong',
      durability: 'server',
    })
    const { body } = await runtime.api().loadSession({ params: { session_id: session.sessionId } })
    // The two differ by no more than the clocks they read.
    const { lastStep, ...stored } = body.session.state
    expect(session.getState()).toMatchObject(stored)
    expect(session.getState().lastStep).toMatchObject({ step: lastStep?.step, tools: lastStep?.tools })
  },
)
