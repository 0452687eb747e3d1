import { randomUUID } from 'node:crypto'
import { compilePlan, validateResponse } from '@countersign/engine'
import { expect } from 'vitest'
import { type Case, isTurn, loadCases, responseOf, type TurnStep } from '../support/cases/cases.js'
import { proves } from '../support/proves.js'
import { expectStatus } from '../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../support/runtime/with-runtime.js'

const { api, owner } = await withOwnedRuntime()

const compiledOf = ({ contracts }: Case) => {
  const sources = contracts.map((value) => ({ file: `${value.tool}.json`, value }))
  const compiled = compilePlan({ contracts: sources, session: { file: 'session.yaml', value: {} } })
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors))
  return compiled
}

const expectedOf = ({ expect: decisions }: TurnStep) =>
  decisions.map((decision) => (decision === 'allow' ? 'allow' : 'block'))

for (const item of loadCases().filter(({ file }) => file === 'costly.json')) {
  const [step] = item.steps.filter(isTurn)
  if (step === undefined) throw new Error(`${item.name} has no turn`)
  const expected = expectedOf(step)

  proves('limit.judging.every-face', `validate, backtest and playground: ${item.name}`, async () => {
    const { plan, compiled_session } = compiledOf(item)
    const response = responseOf(step, 1)
    const { pass } = validateResponse(response, plan, { unmatched: 'deny' })
    expect(pass).toBe(expected.every((decision) => decision === 'allow'))

    const contracts = item.contracts.map((value) => ({ file: `${value.tool}.yaml`, text: JSON.stringify(value) }))
    const { body: judged } = await owner.call('judgePlayground', {
      rawBody: JSON.stringify({ contracts, response, unmatched_policy: 'block' }),
    })
    expect(judged.calls.map(({ decision }) => decision)).toEqual(expected)

    const calls = step.calls.map(({ tool, args }, at) => ({ name: tool, arguments: args ?? {}, expect: expected[at] }))
    const { body: run } = expectStatus(
      await api.createRun({
        body: {
          run_id: randomUUID(),
          plan: { compiled_session },
          against: { fixtures: [{ name: item.name, turns: [{ calls }] }] },
        } as never,
      }),
      201,
    )
    expect(run.run.report).toMatchObject({
      sessions_passed: 1,
      calls_blocked: expected.filter((decision) => decision === 'block').length,
    })
  })
}
