import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createMemories, MEMORIES } from './memories.js'
import { createMetrics } from './metrics.js'

test('every memory that is open is shown with what it holds and may hold', async () => {
  const metrics = createMetrics()
  const memories = createMemories({ memoryMb: 1_024, metrics })
  const sessions = memories.cache<string>('sessions')
  sessions.set('ses_1', 'x', { size: 1_000 })
  memories.watch('bodies', () => 5)
  const text = await metrics.registry.metrics()
  expect(text).toContain(`countersign_memory_bytes{memory="sessions"} 1000\n`)
  expect(text).toContain('countersign_memory_bytes{memory="bodies"} 5\n')
  const bound = MEMORIES.sessions.megabytes * 2 * 1024 * 1024
  expect(text).toContain(`countersign_memory_bound_bytes{memory="sessions"} ${bound}\n`)
  expect(text).not.toContain('memory="plans"')
})

test('what is outside of the heap is shown as well, and its bound does not grow with the heap', async () => {
  const metrics = createMetrics()
  const memories = createMemories({ memoryMb: 1_024, metrics })
  memories.watch('policies', () => 7)
  const text = await metrics.registry.metrics()
  expect(text).toContain('countersign_memory_bytes{memory="policies"} 7\n')
  expect(text).toContain('countersign_memory_bound_bytes{memory="policies"} 33554432\n')
})

test('a memory is opened once: two would hold twice what the table says', () => {
  const memories = createMemories()
  memories.cache('plans')
  expect(() => memories.cache('plans')).toThrow('the memory plans is open already')
})

test('a cache forgets what was used longest ago, and never holds more than its bound', () => {
  const plans = createMemories({ memoryMb: 512 / 1_024 }).cache<string>('plans')
  for (const key of ['a', 'b', 'c']) plans.set(key, key, { size: 30_000 })
  plans.get('a')
  plans.set('d', 'd', { size: 30_000 })
  expect([...plans.keys()]).toEqual(['d', 'a', 'c'])
  plans.set('e', 'e', { size: 200_000 })
  expect(plans.get('e')).toBeUndefined()
  for (let at = 0; at < 1_000; at++) {
    plans.set(`k${at % 97}`, 'x', { size: 1 + ((at * 7_919) % 120_000) })
    expect(plans.calculatedSize).toBeLessThanOrEqual(98_304)
  }
})

const HEAP = Object.values(MEMORIES).filter((row) => !('isFixed' in row))

test('at a heap of 512 MB all memories together leave room for the program itself', () => {
  const sum = HEAP.reduce((all, { megabytes }) => all + megabytes, 0)
  expect(sum).toBeLessThanOrEqual(320)
})

test('the guide for operators lists every memory with its bound, and their sum', () => {
  const page = readFileSync(new URL('../../../../docs/guides/operate.md', import.meta.url), 'utf8')
  const all = Object.entries(MEMORIES)
  for (const [name, { kind, megabytes, holds }] of all)
    expect(page).toContain(`| \`${name}\` | ${holds} | ${kind} | ${megabytes} MB |`)
  const listed = page.match(/^\| `\w+` \| .* \| (?:cache|budget) \| \d+ MB \|$/gm)
  expect(listed).toHaveLength(all.length)
  const sum = HEAP.reduce((all, { megabytes }) => all + megabytes, 0)
  expect(page).toContain(`together they are ${sum} MB`)
})
