import type { Plan } from '@countersign/engine'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { collectPlans } from './archived-plans.js'

proves('archive.large-plans', 'a plan is made ready when a session needs it, and few stay ready', () => {
  const prepared: string[] = []
  const prepare = (compiled: unknown) => {
    prepared.push((compiled as { name: string }).name)
    return null as Plan | null
  }
  const row = (name: string) => JSON.stringify({ compiled_session: { name, text: 'x'.repeat(1_000) } })
  const plans = collectPlans(prepare, row('a').length * 2)
  for (const name of ['a', 'b', 'c']) plans.add(name, row(name))
  expect(prepared).toEqual([])
  for (const name of ['a', 'b', 'a', 'b']) expect(plans.get(name)?.compiled).toMatchObject({ name })
  expect(prepared).toEqual(['a', 'b'])
  // The one that was not used for longest goes.
  for (const name of ['c', 'b', 'a']) plans.get(name)
  expect(prepared).toEqual(['a', 'b', 'c', 'a'])
  expect(plans.get('unknown')).toBe(null)
})
