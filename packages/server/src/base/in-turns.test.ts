import { setImmediate } from 'node:timers/promises'
import { compilePlanInSteps, preparePlanInSteps, type Steps } from '@countersign/engine'
import { expect, test } from 'vitest'
import { inTurns } from './in-turns.js'

/** Counts how often others could have had their turn until the work was done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0
  let isDone = false
  const end = work.finally(() => {
    isDone = true
  })
  while (!isDone) {
    await setImmediate()
    turns++
  }
  await end
  return turns
}

const schemaOf = (tool: number) => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => [`p${tool}_${at}`, { type: 'string', minLength: at, maxLength: 900 }]),
  ),
})
const tools = Array.from({ length: 8 }, (_, tool) => tool)

test('a plan that takes long to prepare lets others in, contract by contract', async () => {
  const contracts = tools.map((tool) => ({
    tool: `t${tool}`,
    side_effect: 'read',
    evidence_class: 'unverifiable',
    commit_requirement: 'reported',
    arguments: schemaOf(tool),
  }))
  const prepared = inTurns(preparePlanInSteps({ plan_version: 1, session: {}, contracts }))
  expect(await turnsDuring(prepared)).toBeGreaterThan(1)
  expect(await prepared).toMatchObject({ ok: true })
  const sources = tools.map((tool) => ({
    file: `${tool}.yaml`,
    value: { tool: `t${tool}`, arguments: schemaOf(tool) },
  }))
  const compiled = inTurns(compilePlanInSteps({ contracts: sources }))
  expect(await turnsDuring(compiled)).toBeGreaterThan(1)
  expect(await compiled).toMatchObject({ ok: true })
})

test('long works are done one after another, short ones at once, and one that fails holds up no other', async () => {
  const done: string[] = []
  function* work(name: string, steps: number): Steps<string> {
    for (let at = 0; at < steps; at++) {
      const until = performance.now() + 25
      while (performance.now() < until);
      yield
    }
    if (name === 'fails') throw new Error(name)
    done.push(name)
    return name
  }
  const all = [
    inTurns(work('first', 3)),
    inTurns(work('fails', 3)),
    inTurns(work('second', 3)),
    inTurns(work('short', 0)),
  ]
  expect(done).toEqual(['short'])
  const outcomes = await Promise.allSettled(all)
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect(done).toEqual(['short', 'first', 'second'])
})
