import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import type { Mutable } from './copy-state.js'
import { changeOpenings, countKeys } from './kept-values.js'
import type { SessionState } from './state.js'

const COUNT = 30_000
const names = Array.from({ length: COUNT }, (_, at) => `n${at}`)

// Copying all of them for each of them would take minutes.
proves('limit.fair.kept-values', 'counts are copied once, however many values a step adds or gives back', () => {
  const next: Pick<Mutable<SessionState>, 'keyCounts'> = {}
  const slots = names.map((name) => `${name}#k`)
  countKeys(next as Mutable<SessionState>, 'aggregates', [...slots, 'n0#other', 'without a key'], 1)
  const counted = next.keyCounts
  expect(Object.keys(counted ?? {})).toHaveLength(COUNT)
  expect(counted?.['aggregates.n0']).toBe(2)
  countKeys(next as Mutable<SessionState>, 'aggregates', slots, -1)
  expect(next.keyCounts).toEqual({ 'aggregates.n0': 1 })
  expect(counted?.['aggregates.n0']).toBe(2)

  const openings = names.map((witness) => ({ key: 'backup', witness }))
  const opened = changeOpenings(undefined, openings, 1)
  expect(Object.keys(opened?.backup ?? {})).toHaveLength(COUNT)
  expect(changeOpenings(opened, openings, -1)).toEqual({})
  expect(Object.keys(opened?.backup ?? {})).toHaveLength(COUNT)
})
