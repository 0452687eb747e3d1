import { addCall, newSummary } from '@countersign/engine'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { draftTools } from './draft-tools.js'

/** A tool that was called once, with a schema of more than half a megabyte. */
const toolWith = (name: string) => {
  const summary = newSummary(name)
  addCall(summary, { session: 's', tool: name, arguments: { word: 'a' }, flow: null }, 'salt')
  const word = { enum: Array.from({ length: 60 }, (_, at) => `${at}`.padStart(200, 'w')) }
  const properties = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`word${at}`, word]))
  const schema = JSON.stringify({ type: 'object', properties })
  return { summary: JSON.stringify(summary), offer: { toolName: name, schema } }
}

test('what is sent back is bounded: contracts that are too much together are put down by name and effect', () => {
  const tools = Array.from({ length: 16 }, (_, at) => toolWith(`read_${at + 10}`))
  const { drafts } = draftTools({
    summaries: tools.map(({ summary }) => summary),
    offered: tools.map(({ offer }) => offer),
    salt: 'salt',
    captures: null,
    alpha: null,
  })
  const size = drafts.reduce((sum, { text, words }) => sum + text.length + words.join('').length, 0)
  expect(size).toBeGreaterThan(1_000_000)
  expect(size).toBeLessThan(8.1 * 1024 * 1024)
  expect(drafts.map(({ tool, samples }) => [tool, samples])).toEqual(tools.map(({ offer }) => [offer.toolName, 1]))
  const shortened = drafts.filter(({ text, bareText }) => text === bareText)
  expect(shortened.length).toBeGreaterThan(0)
  expect(shortened.length).toBeLessThan(16)
  for (const { text } of shortened) expect(text).toMatch(/^# Left out/m)
})

proves('people.contracts.learned-from', 'conversations are estimated beyond what a summary holds', () => {
  const seenIn = (conversations: number) => {
    const summary = newSummary('read')
    for (let at = 0; at < conversations; at++)
      addCall(summary, { session: `conversation ${at}`, tool: 'read', arguments: {}, flow: null }, 'salt')
    const given = { summaries: [JSON.stringify(summary)], offered: [], salt: 'salt', captures: null, alpha: null }
    return draftTools(given).sessions[0] ?? 0
  }
  expect(seenIn(63)).toBe(63)
  expect(Math.abs(seenIn(1_000) - 1_000)).toBeLessThan(300)
})
