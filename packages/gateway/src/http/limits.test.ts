import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createLimits } from './limits.js'

const MB = 1024 * 1024
const BUSY = expect.objectContaining({ code: 'busy' })

proves('gateway.limits', 'the 257th request with a body is refused until one of the others is over', () => {
  const limits = createLimits()
  const many = Array.from({ length: 256 }, () => limits.admit())
  for (const one of many) one.hold(1)
  const next = limits.admit()
  expect(() => next.hold(1)).toThrow(BUSY)
  many[7]?.hold(1)
  many[7]?.leave()
  many[7]?.leave()
  next.hold(1)
  expect(() => limits.admit().hold(0)).toThrow(BUSY)
})

proves('gateway.limits', 'bodies hold 64 MB together, and one alone may hold more', () => {
  const limits = createLimits()
  const large = limits.admit()
  large.hold(100 * MB)
  large.hold(100 * MB)
  expect(() => limits.admit().hold(1)).toThrow(BUSY)
  large.leave()
  const [first, second] = [limits.admit(), limits.admit()]
  first.hold(32 * MB)
  second.hold(32 * MB)
  expect(() => first.hold(1)).toThrow(BUSY)
  second.leave()
  first.hold(32 * MB)
})

proves('gateway.limits', 'a request that is over holds nothing any more', () => {
  const limits = createLimits(1, MB)
  const left = limits.admit()
  left.leave()
  expect(() => left.hold(1)).toThrow(BUSY)
  limits.admit().hold(MB)
})
