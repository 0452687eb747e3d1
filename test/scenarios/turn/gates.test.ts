import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { type EnforcementDecision, ReplayContractError } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { type Agent, callNames, calls, says, startAgent } from '../../support/runtime/agent.js'

const contracts = [
  { tool: 'look', side_effect: 'read' as const },
  { tool: 'pay', side_effect: 'write' as const, argument_value_invariants: [{ path: '$.amount', lte: 500 }] },
]
const oneBad = () => calls(['look', {}, 'a'], ['pay', { amount: 501 }, 'b'])
const allBad = () => calls(['pay', { amount: 501 }, 'a'], ['pay', { amount: 502 }, 'b'])

let agent: Agent
beforeAll(async () => {
  agent = await startAgent()
})
afterAll(() => agent.close())

proves(
  ['option.gate.default', 'option.gate.reject-all', 'error.contract.reject-all', 'option.mode.default'],
  async () => {
    for (const options of [{ contracts }, { contracts, gate: 'reject_all' as const, mode: 'enforce' as const }]) {
      const { session, ask } = agent.start(options)
      agent.provider.enqueue(oneBad())
      await expect(ask(['look', 'pay'])).rejects.toThrow(ReplayContractError)
      expect(session.getState()).toMatchObject({ stateVersion: 0, totalBlockCount: 1, consecutiveBlockCount: 1 })
    }
  },
)

proves(['option.gate.strip-partial', 'error.contract.strip-partial'], async () => {
  const { ask } = agent.start({ contracts, gate: 'strip_partial' })
  agent.provider.enqueue(oneBad(), allBad())
  expect(callNames(await ask(['look', 'pay']))).toEqual(['look'])
  await expect(ask(['look', 'pay'])).rejects.toThrow(ReplayContractError)
})

proves('option.gate.strip-blocked', async () => {
  const { ask } = agent.start({ contracts, gate: 'strip_blocked' })
  agent.provider.enqueue(oneBad(), allBad())
  expect(callNames(await ask(['look', 'pay']))).toEqual(['look'])
  const answer = await ask(['look', 'pay'])
  const [choice] = answer.choices
  expect(answer.object).toBe('chat.completion')
  expect(choice?.message.tool_calls).toBeUndefined()
  expect(choice?.finish_reason).toBe('stop')
  expect(choice?.message.content).toContain('argument_value_mismatch')
})

proves(
  ['error.contract.decision', 'error.contract.failures', 'error.contract.contract-file', 'option.on-block'],
  'a block tells everything about itself, to the catcher and to onBlock',
  async () => {
    const reported: EnforcementDecision[] = []
    const contractsDir = mkdtempSync(join(tmpdir(), 'countersign-gates-'))
    for (const contract of contracts)
      writeFileSync(join(contractsDir, `${contract.tool}.json`), JSON.stringify(contract))
    const { ask } = agent.start({ contractsDir, onBlock: (decision) => reported.push(decision) })
    rmSync(contractsDir, { recursive: true })
    agent.provider.enqueue(oneBad())
    const error = await ask(['look', 'pay']).catch((thrown: unknown) => thrown)
    if (!(error instanceof ReplayContractError)) throw new Error('nothing was blocked')
    expect(error.decision).toMatchObject({
      outcome: 'blocked',
      decisions: [
        { call_id: 'a', tool_name: 'look', decision: 'allow' },
        { call_id: 'b', tool_name: 'pay', decision: 'block', reason: 'argument_value_mismatch' },
      ],
      blocked: [{ call_id: 'b' }],
    })
    expect(error.failures).toMatchObject([
      { path: '$.tool_calls[1].arguments.amount', operator: 'lte', expected: 500, found: 501 },
    ])
    expect(error.contractFile).toBe('pay.json')
    expect(error.message).toContain('pay')
    expect(reported).toEqual([error.decision])
  },
)

proves(
  ['option.max-retries.default', 'option.max-retries.retries', 'error.rule.retries', 'limit.max-retries'],
  'without maxRetries the model is asked once; with it, again after each block, with the remedy, five times at most',
  async () => {
    const asked = () => agent.provider.requests.length
    const none = agent.start({ contracts })
    agent.provider.enqueue(oneBad())
    const before = asked()
    await expect(none.ask(['look', 'pay'])).rejects.toThrow(ReplayContractError)
    expect(asked() - before).toBe(1)

    const twice = agent.start({ contracts, maxRetries: 2 })
    agent.provider.enqueue(oneBad(), allBad(), calls(['pay', { amount: 5 }]))
    expect(callNames(await twice.ask(['look', 'pay']))).toEqual(['pay'])
    expect(JSON.stringify(agent.provider.requests.at(-1)?.body?.messages)).toContain('500')
    expect(twice.session.getState()).toMatchObject({ totalBlockCount: 2, consecutiveBlockCount: 0 })

    const five = agent.start({ contracts, maxRetries: 5 })
    agent.provider.answerWith(allBad)
    const start = asked()
    await expect(five.ask(['pay'])).rejects.toThrow(ReplayContractError)
    expect(asked() - start).toBe(6)
    agent.provider.answerWith(() => says('unasked'))
  },
)

proves('option.gate.answer.needs-tools', async () => {
  expect(() => agent.start({ contracts, gate: 'answer' })).toThrow('pass the option tools')
  const { session, ask } = agent.start({ contracts, gate: 'answer', tools: { look: () => 'seen' } })
  agent.provider.enqueue(oneBad(), allBad())
  const kept = await ask(['look', 'pay'])
  expect(callNames(kept)).toEqual(['look'])
  expect(kept).not.toHaveProperty('countersign')
  expect(callNames(await ask(['look', 'pay']))).toEqual([])
  await session.restore()
})

proves('option.gate.answer', 'the response says beside its messages which calls are blocked', async () => {
  const { session, ask } = agent.start({ contracts, gate: 'answer', tools: { look: () => 'seen', pay: () => 'paid' } })
  agent.provider.enqueue(oneBad())
  const answer = await ask(['look', 'pay'])
  expect(callNames(answer)).toEqual(['look', 'pay'])
  expect(answer).toMatchObject({
    countersign: { blocked: [{ call_id: 'b', tool_name: 'pay', reason: 'argument_value_mismatch' }] },
  })
  expect(JSON.stringify(answer.choices)).not.toContain('countersign')
  expect(session.verdictOf('b')).toMatchObject({ verdict: 'block' })
  await session.restore()
})

proves('option.max-retries.maximum', () => {
  for (const maxRetries of [6, -1, 1.5, Number.NaN]) {
    expect(() => agent.start({ contracts, maxRetries })).toThrow('maxRetries')
  }
})
