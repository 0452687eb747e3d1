import { compilePlan, preparePlan } from '@countersign/engine'
import type { CompiledSession } from '@countersign/protocol'
import { LRUCache } from 'lru-cache'
import { expect, test } from 'vitest'
import { createPlanCache } from './plan-cache.js'

const compiled = (lte: number): CompiledSession => {
  const contract = { tool: 'pay', argument_value_invariants: [{ path: '$.amount', lte }] }
  const result = compilePlan({ contracts: [{ file: 'pay.yaml', value: contract }] })
  if (!result.ok) throw new Error(JSON.stringify(result.errors))
  return result.compiled_session
}

test('a plan is made ready once, whoever sends it, and another one is another', async () => {
  const cache = createPlanCache(new LRUCache({ maxSize: 1e6 }))
  const first = await cache.prepare(compiled(500), 'ten_1')
  const again = await cache.prepare(JSON.parse(JSON.stringify(compiled(500))), 'ten_1')
  const other = await cache.prepare(compiled(501), 'ten_1')
  if (!first.ok || !again.ok || !other.ok) throw new Error('a plan was refused')
  expect(again.plan).toBe(first.plan)
  expect(other.plan.hash).not.toBe(first.plan.hash)
})

test('a plan with a fault is refused each time, and the least recently used one goes first', async () => {
  const prepared = preparePlan(compiled(500))
  if (!prepared.ok) throw new Error('a plan was refused')
  // Room for one and a half.
  const cache = createPlanCache(new LRUCache({ maxSize: Math.floor(prepared.plan.weight * 1.5) }))
  const [contract] = compiled(500).contracts
  const twice = { ...compiled(500), contracts: [contract, contract] } as CompiledSession
  expect(preparePlan(twice).ok).toBe(false)
  for (let time = 0; time < 2; time++) expect((await cache.prepare(twice, 'ten_1')).ok).toBe(false)
  const first = await cache.prepare(compiled(500), 'ten_1')
  await cache.prepare(compiled(501), 'ten_1')
  const again = await cache.prepare(compiled(500), 'ten_1')
  expect(first.ok && again.ok && again.plan).not.toBe(first.ok && first.plan)
})

test('a plan that is too heavy to be remembered is prepared each time', async () => {
  const cache = createPlanCache(new LRUCache({ maxSize: 100 }))
  const [first, second] = [await cache.prepare(compiled(500), 'ten_1'), await cache.prepare(compiled(500), 'ten_1')]
  expect([first.ok, second.ok]).toEqual([true, true])
  expect(first.ok && second.ok && first.plan !== second.plan).toBe(true)
})
