import type { JsonValue } from '@countersign/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { leavesOf } from '../json/leaves.js'
import { countCovered, coversKey, coversLocation, sourceSteps } from './source-path.js'

test('every path under which arguments are learned can be read, and covers the values it was learned from', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const { leaves } = leavesOf(value)
      for (const { path, location, isKey } of leaves) {
        const steps = sourceSteps(path)
        expect([path, steps === null]).toEqual([path, false])
        const covers = isKey === true ? coversKey : coversLocation
        expect([path, covers(steps ?? [], location)]).toEqual([path, true])
        const covered = leaves.filter((leaf) =>
          (leaf.isKey === true ? coversKey : coversLocation)(steps ?? [], leaf.location),
        ).length
        const isLeaf = (found: JsonValue) => typeof found === 'string' || typeof found === 'number'
        expect(countCovered(value as JsonValue, steps ?? [], isLeaf)).toBe(covered)
      }
    }),
    { numRuns: 300 },
  )
})

test.each(['to', '$..to', '$.to[?@.x]', '$.to[1:2]', "$['it\\'s']", '$.to[-1]', '$.'])(
  '%s is no path of a source',
  (path) => expect(sourceSteps(path)).toBeNull(),
)
