import type { Decision } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { callRecord } from './call-effects.js'

test('what calls without effects share cannot be changed through one of them', () => {
  const record = callRecord({ reasons: [], checkpoints: [] } as unknown as Decision)
  expect(() => record.adds_labels.push('vip')).toThrow(TypeError)
  expect(() => Object.assign(record.amounts, { sum: '1' })).toThrow(TypeError)
  expect(callRecord({ reasons: [], checkpoints: [] } as unknown as Decision)).toMatchObject({
    adds_labels: [],
    amounts: {},
  })
})
