import { expect, test } from 'vitest'
import { startFor } from './use-timeline.js'

test('an address that names a late call starts the timeline a little before it', () => {
  expect(['', '#call-4-0', '#call-100-2', '#event-842', '#call-842-1', '#call-x', '#other'].map(startFor)).toEqual([
    0, 0, 0, 832, 832, 0, 0,
  ])
})
