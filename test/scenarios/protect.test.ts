import { afterAll, beforeAll, expect, test } from 'vitest'
import { ReplayContractError } from '../../packages/sdk/src/index.js'
import { type Agent, callNames, calls, results, says, startAgent } from '../support/agent.js'

let agent: Agent
beforeAll(async () => {
  agent = await startAgent()
})
afterAll(async () => {
  await agent.close()
})

test('an allowed call passes and a blocked one throws', async () => {
  const { session, ask } = agent.start({
    contracts: [{ tool: 'pay', side_effect: 'write', argument_value_invariants: [{ path: '$.amount', lte: 500 }] }],
  })
  agent.provider.enqueue(calls(['pay', { amount: 5 }]), calls(['pay', { amount: 501 }]), says('done'))
  const first = await ask(['pay'])
  expect(callNames(first)).toEqual(['pay'])
  const blocked = await ask(['pay'], results(first)).catch((error: unknown) => error)
  expect(blocked).toBeInstanceOf(ReplayContractError)
  expect((blocked as ReplayContractError).decision.blocked[0]?.reason).toBe('argument_value_mismatch')
  const last = await ask(['pay'])
  expect(last.choices[0]?.message.content).toBe('done')
  expect(session.getState()).toMatchObject({ stateVersion: 1, totalBlockCount: 1 })
  expect(session.getHealth()).toMatchObject({ status: 'healthy', protectionLevel: 'protect', tier: 'compat' })
})
