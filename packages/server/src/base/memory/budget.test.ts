import { expect, test, vi } from 'vitest'
import { createBudget } from './budget.js'

test('what is taken stays within the bound and the share; what is released can be taken again', () => {
  const budget = createBudget({ boundBytes: 100, share: 1 / 4 })
  expect([budget.take('a', 20), budget.take('a', 5), budget.take('a', 1)]).toEqual([true, true, false])
  expect([budget.take('b', 25), budget.take('c', 25), budget.take('d', 25), budget.take('e', 1)]).toEqual([
    true,
    true,
    true,
    false,
  ])
  budget.release('a', 5)
  expect([budget.bytes(), budget.take('e', 1)]).toEqual([95, true])
})

test('who holds nothing may take a piece above the share, and above the bound if nobody holds any', () => {
  const budget = createBudget({ boundBytes: 100, share: 1 / 4 })
  expect([budget.take('a', 60), budget.take('a', 1), budget.take('b', 200), budget.take('b', 40)]).toEqual([
    true,
    false,
    false,
    true,
  ])
  budget.release('a', 60)
  budget.release('b', 40)
  expect(budget.take('c', 200)).toBe(true)
})

test('who waits enters in order, and an owner at its share holds up nobody else', async () => {
  const budget = createBudget({ boundBytes: 100, share: 1 / 2 })
  const entered: string[] = []
  const enter = (owner: string, bytes: number) =>
    Promise.resolve(budget.takeInTurn(owner, bytes, 10_000)).then(() => entered.push(`${owner}${bytes}`))
  await enter('a', 50)
  const late = [enter('a', 10), enter('b', 40)]
  await late[1]
  const large = enter('c', 30)
  const small = enter('d', 5)
  await Promise.resolve()
  expect(entered).toEqual(['a50', 'b40'])
  budget.release('b', 40)
  await Promise.all([large, small])
  budget.release('a', 50)
  await late[0]
  expect(entered).toEqual(['a50', 'b40', 'c30', 'd5', 'a10'])
  expect(budget.bytes()).toBe(45)
})

test('who waits too long gets nothing, and those behind go on', async () => {
  vi.useFakeTimers()
  const budget = createBudget({ boundBytes: 100, share: 1 })
  budget.take('a', 80)
  const large = budget.takeInTurn('b', 60, 1_000)
  const small = budget.takeInTurn('c', 10, 5_000)
  await vi.advanceTimersByTimeAsync(1_000)
  expect([await large, await small, budget.bytes()]).toEqual([false, true, 90])
  vi.useRealTimers()
})
