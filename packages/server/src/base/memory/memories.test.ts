import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createMetrics } from '../metrics.js'
import { createMemories } from './memories.js'
import { MEMORIES, OUTSIDE_THE_HEAP } from './memory-table.js'

test('every memory that is open is shown with what it holds and may hold', async () => {
  const metrics = createMetrics()
  const memories = createMemories({ memoryMb: 1_024, metrics })
  const sessions = memories.cache<string>('sessions')
  sessions.remember('ses_1', 'x', { owner: 'a', bytes: 1_000 })
  memories.budget('captures').take('a', 5)
  const text = await metrics.render()
  expect(text).toContain(`countersign_memory_bytes{memory="sessions"} ${sessions.bytes()}\n`)
  expect(text).toContain('countersign_memory_bytes{memory="captures"} 5\n')
  const bound = MEMORIES.sessions.megabytes * 2 * 1024 * 1024
  expect(text).toContain(`countersign_memory_bound_bytes{memory="sessions"} ${bound}\n`)
  expect(text).not.toContain('memory="plans"')
})

test('what a library keeps is shown as well, and its bound does not grow with the heap', async () => {
  const metrics = createMetrics()
  const memories = createMemories({ memoryMb: 1_024, metrics })
  memories.watch('policies', () => 7)
  const text = await metrics.render()
  expect(text).toContain('countersign_memory_bytes{memory="policies"} 7\n')
  expect(text).toContain('countersign_memory_bound_bytes{memory="policies"} 33554432\n')
})

test('a memory is opened once: two would hold twice what the table says', () => {
  const memories = createMemories()
  memories.cache('plans')
  expect(() => memories.cache('plans')).toThrow('the memory plans is open already')
})

test('at a heap of 512 MB all memories together leave room for the program itself', () => {
  const sum = Object.values(MEMORIES).reduce((all, { megabytes }) => all + megabytes, 0)
  expect(sum).toBeLessThanOrEqual(320)
})

test('the guide for operators lists every memory with its bound, and their sum', () => {
  const page = readFileSync(new URL('../../../../../docs/guides/operate.md', import.meta.url), 'utf8')
  const all = Object.entries({ ...MEMORIES, ...OUTSIDE_THE_HEAP })
  for (const [name, { kind, megabytes, holds }] of all)
    expect(page).toContain(`| \`${name}\` | ${holds} | ${kind} | ${megabytes} MB |`)
  const listed = page.match(/^\| `\w+` \| .* \| (?:cache|budget) \| \d+ MB \|$/gm)
  expect(listed).toHaveLength(all.length)
  const sum = Object.values(MEMORIES).reduce((all, { megabytes }) => all + megabytes, 0)
  expect(page).toContain(`together they are ${sum} MB`)
})
