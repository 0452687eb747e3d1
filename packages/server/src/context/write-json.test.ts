import { expect, test, vi } from 'vitest'
import { turns } from '../base/work/in-turns.js'
import { writeJson } from './write-json.js'

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at + 0.1)

test.each<[string, unknown, boolean]>([
  ['nothing', undefined, false],
  ['a small one', { items: numbers(500), next: null }, false],
  ['many numbers', { items: numbers(600), next: undefined }, true],
  ['many objects', { items: Array.from({ length: 300 }, (_, at) => ({ a: at, b: null })) }, true],
  ['long texts', { texts: ['x'.repeat(20_000), 'y'.repeat(20_000)] }, true],
])('%s is written as ever; in turns: %s', async (_name, value, isInTurns) => {
  const run = vi.spyOn(turns, 'run')
  expect(await writeJson('tenant', value)).toBe(JSON.stringify(value))
  expect(run).toHaveBeenCalledTimes(isInTurns ? 1 : 0)
  run.mockRestore()
})
