import { expect, test } from 'vitest'
import type { LearnedToolChange } from '../store/captures/learned-tools.js'
import { learnBatch } from './learn-batch.js'

const TOOLS = Array.from({ length: 20 }, (_, at) => `tool_${at}`)
const args = JSON.stringify(Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`field${at}`, 'some words'])))
const item = JSON.stringify({
  conversation_id: 'c',
  request: { tools: [] },
  response: { tool_calls: TOOLS.map((name, at) => ({ id: `call_${at}`, name, arguments: args })) },
  flows: { calls: [], columns: [{ tool: 'tool_3', path: '$', holds: ['prose'] }] },
})
const batch = { captures: [{ item, outcomes: null }], salt: 'salt', summarySize: 100_000 }

test('tools are learned in groups as they are together, and no group writes out much more than it may', () => {
  const all = TOOLS.map((toolName) => ({ toolName, summary: null }))
  const together = learnBatch({ ...batch, tools: all, atOnce: Number.POSITIVE_INFINITY })
  expect(together.tools).toBe(TOOLS.length)
  const longest = Math.max(...together.changes.map(({ summary }) => summary.length))
  const changes: LearnedToolChange[] = []
  for (let done = 0; done < all.length; ) {
    const learned = learnBatch({ ...batch, tools: all.slice(done, done + 10), atOnce: 3 * longest })
    expect(learned.tools).toBeLessThanOrEqual(4)
    changes.push(...learned.changes)
    done += learned.tools
  }
  expect(changes).toEqual(together.changes)
  expect(changes.map(({ toolName }) => toolName)).toEqual(TOOLS)
})

test('a tool that nobody asks about is left alone', () => {
  const { changes } = learnBatch({ ...batch, tools: [{ toolName: 'tool_7', summary: null }], atOnce: 1_000_000 })
  expect(changes.map(({ toolName, samples }) => [toolName, samples])).toEqual([['tool_7', 1]])
})
