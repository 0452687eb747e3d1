import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import type { Plan } from '../contract/plan.js'
import type { PendingCall } from './state.js'
import { isUnanswered, withoutUnanswered, withUnanswered } from './unanswered.js'

const plan = {
  contracts: new Map([
    ['pay', { checkpoints: [{ definition: { timeout_seconds: 5 } }, { definition: { timeout_seconds: 600 } }] }],
  ]),
} as unknown as Plan
const call = (hash: string, ...checkpoints: string[]) =>
  ({
    tool_name: 'pay',
    argument_hash: hash,
    checkpoints,
    proposed_at: '2026-01-01T00:00:00.000Z',
  }) as unknown as PendingCall
const at = (time: string): number => Date.parse(`2026-01-01T${time}Z`)

proves(
  'ask.own-question-survives',
  'a parked question stands for the time of its longest checkpoint, at least 30 seconds',
  () => {
    const short = withUnanswered(undefined, [call('a', 'x#0')], plan)
    expect(isUnanswered({ unanswered: short }, { tool: 'pay', hash: 'a' }, at('00:00:30'))).toBe(true)
    expect(isUnanswered({ unanswered: short }, { tool: 'pay', hash: 'a' }, at('00:00:31'))).toBe(false)
    const long = withUnanswered(short, [call('b', 'x#0', 'x#1')], plan)
    expect(isUnanswered({ unanswered: long }, { tool: 'pay', hash: 'b' }, at('00:10:00'))).toBe(true)
    expect(isUnanswered({ unanswered: long }, { tool: 'pay', hash: 'b' }, at('00:10:01'))).toBe(false)
    // One that the session or a learned rule asks.
    const other = withUnanswered(undefined, [call('c', 'x#risk')], plan)
    expect(isUnanswered({ unanswered: other }, { tool: 'pay', hash: 'c' }, at('00:05:00'))).toBe(true)
  },
)

proves('ask.own-question-survives', 'parked once more, it has no more time than it had', () => {
  const again = {
    ...call('a', 'x#1'),
    proposed_at: '2026-01-01T00:09:00.000Z',
    asked_until: '2026-01-01T00:10:00.000Z',
  }
  const parked = withUnanswered(undefined, [again], plan)
  expect(isUnanswered({ unanswered: parked }, { tool: 'pay', hash: 'a' }, at('00:10:00'))).toBe(true)
  expect(isUnanswered({ unanswered: parked }, { tool: 'pay', hash: 'a' }, at('00:10:01'))).toBe(false)
})

proves('ask.own-question-survives', 'it is of one tool and its arguments, stands once, and a session keeps ten', () => {
  const twice = withUnanswered(withUnanswered(undefined, [call('a', 'x#1')], plan), [call('a', 'x#1')], plan)
  const of = { tool: 'pay', hash: 'a' }
  expect(isUnanswered({ unanswered: twice }, { ...of, tool: 'refund' }, at('00:00:01'))).toBe(false)
  expect(isUnanswered({ unanswered: twice }, { ...of, hash: 'b' }, at('00:00:01'))).toBe(false)
  const once = withoutUnanswered(twice, of)
  expect(once).toHaveLength(1)
  expect(withoutUnanswered(once, of)).toEqual([])
  const many = Array.from({ length: 12 }, (_, index) => call(`h${index}`, 'x#0'))
  expect(withUnanswered(undefined, many, plan)?.map(({ hash }) => hash)).toEqual(
    many.slice(2).map((one) => one.argument_hash),
  )
})
