import { BLOCK_REASON_NAMES } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { LADDER, REASONS_AFTER_THE_DECISION } from './ladder.js'

test('the ladder has the order of the block reasons', () => {
  const order = LADDER.map(({ reason }) => BLOCK_REASON_NAMES.indexOf(reason))
  expect(order).toEqual([...order].sort((a, b) => a - b))
})

test('every block reason is on the ladder or comes after the decision', () => {
  const reached = new Set<string>([...LADDER.map(({ reason }) => reason), ...REASONS_AFTER_THE_DECISION])
  expect(BLOCK_REASON_NAMES.filter((reason) => !reached.has(reason))).toEqual([])
  // What a person refused is not asked again, and a question may have ended: the same reasons stand before the next decision.
  const both = LADDER.filter(({ reason }) => REASONS_AFTER_THE_DECISION.some((later) => later === reason))
  expect(both.map(({ reason }) => reason)).toEqual(['checkpoint_denied', 'checkpoint_denied', 'checkpoint_timeout'])
})
