import { AsyncLocalStorage } from 'node:async_hooks'
import { expect, test, vi } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { openSession } from '../session/open-session.js'
import { createOpenCalls } from './open-calls.js'
import { isInsideTool, startTool } from './running-tools.js'

proves('session.ended-cost-nothing', async () => {
  const used = vi.spyOn(AsyncLocalStorage.prototype, 'run')
  const turnedOff = vi.spyOn(AsyncLocalStorage.prototype, 'disable')
  for (let at = 0; at < 3; at += 1) {
    const contracts = [{ tool: 'find', side_effect: 'read' as const }]
    const session = openSession({ contracts, tools: { find: async () => 7 }, diagnostics: () => {} })
    const turn = await session.prepare({ model: 'm', tools: ['find'], messages: [] })
    await turn.propose({ calls: [{ id: 'c1', name: 'find', arguments: {} }] })
    expect(await session.run('c1')).toBe(7)
    await session.close()
  }
  // Node 20 asks every storage that is on about every promise of the program.
  expect(used).toHaveBeenCalledTimes(3)
  expect(new Set(used.mock.contexts).size).toBe(1)
  expect(turnedOff).toHaveBeenCalledTimes(3)
  vi.restoreAllMocks()
})

test('code inside of tools of several sessions is inside of each of them, until the tool has ended', async () => {
  const [ours, others, third] = [createOpenCalls(), createOpenCalls(), createOpenCalls()]
  const isInside = () => [isInsideTool(ours), isInsideTool(others), isInsideTool(third)]
  const outer = startTool(ours)
  await outer.run(async () => {
    const inner = startTool(others)
    await inner.run(async () => {
      await Promise.resolve()
      expect(isInside()).toEqual([true, true, false])
      inner.end()
      inner.end()
      expect(isInside()).toEqual([true, false, false])
    })
    expect(isInside()).toEqual([true, false, false])
  })
  expect(isInside()).toEqual([false, false, false])
  outer.end()
})
