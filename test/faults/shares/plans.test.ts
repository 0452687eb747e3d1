import { randomUUID } from 'node:crypto'
import type { CompiledSession } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime({ isolate: 'threads' })

/** Takes long to prepare, about fifty milliseconds a contract: expressions with large counts. */
function heavyPlan(contracts: number): CompiledSession {
  const tag = randomUUID().slice(0, 8)
  return {
    plan_version: 1,
    session: {},
    contracts: Array.from({ length: contracts }, (_, tool) => ({
      tool: `t${tool}`,
      side_effect: 'read',
      evidence_class: 'unverifiable',
      commit_requirement: 'reported',
      argument_value_invariants: Array.from({ length: 30 }, (_, rule) => ({
        path: '$.a',
        regex: `(?:[a-z]x?){1,${300 + rule}}${tag}`,
      })),
    })),
  } as unknown as CompiledSession
}

/** As an agent has it whose rules differ from session to session. */
const onePattern = (): CompiledSession => ({ ...heavyPlan(1), contracts: heavyPlan(1).contracts.map(withOneRule) })

const withOneRule = (contract: CompiledSession['contracts'][number]) => ({
  ...contract,
  argument_value_invariants: contract.argument_value_invariants?.slice(0, 1) ?? [],
})

/** Wrong, which shows only at the end: two contracts for one tool. */
function brokenPlan(contracts: number): CompiledSession {
  const plan = heavyPlan(contracts)
  return { ...plan, contracts: [...plan.contracts, ...plan.contracts.slice(0, 1)] }
}

const sessionWith = (plan: CompiledSession) => ({
  body: { session_id: `ses-${randomUUID()}`, holder_id: 'holder-1', compiled_session: plan },
})

/** Sends plans, and says how many are prepared by now, or refused for what is wrong with them. */
function send(api: ReturnType<typeof runtime.api>, plans: readonly CompiledSession[]) {
  const seen = { prepared: 0 }
  const answers = plans.map(async (plan) => {
    const answer = await api.createSession(sessionWith(plan))
    if (answer.status === 201 || answer.problem.code === 'PLAN_INVALID') seen.prepared += 1
    return answer
  })
  return { seen, all: Promise.all(answers) }
}

proves('limit.fair.plans', 'plans that are refused leave the turns of another tenant alone', async () => {
  const other = await runtime.createTenant()
  const quiet = await openSession(runtime.api(other.key))
  const { seen, all } = send(
    runtime.api(),
    Array.from({ length: 6 }, () => brokenPlan(6)),
  )
  for (let turn = 0; turn < 10; turn++) expect(await quiet.turn([LOOKUP])).toMatchObject({ committed: true })
  // Where they come before a turn, all of them do.
  expect(seen.prepared).toBeLessThan(3)
  await all
})

test('short plans take their turn, however many of them come at once', async () => {
  const api = runtime.api((await runtime.createTenant()).key)
  const answers = await send(
    api,
    Array.from({ length: 40 }, () => onePattern()),
  ).all
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(40)
})
