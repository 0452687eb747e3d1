import type { JsonValue } from '@countersign/protocol'
import { spendOnJudging, spendOnText } from '../text/judging-budget.js'
import { runToEnd, type Steps } from '../text/steps.js'
import { canonicalJson } from './canonical-json.js'
import { canonicalJsonInSteps } from './write-in-steps.js'

/** Values that can be looked up by equality as JSON, in time that does not depend on how many there are. */
export interface ValueSet {
  has(value: JsonValue): boolean
}

export const valueSet = (values: readonly JsonValue[]): ValueSet => runToEnd(valueSetInSteps(values))

/** The same for a long list, with other work in between. */
export function* valueSetInSteps(values: readonly JsonValue[]): Steps<ValueSet> {
  const scalars = new Set<string | boolean | null>()
  const numbers = new Set<string>()
  const containers = new Set<string>()
  for (const value of values) {
    if (typeof value === 'object' && value !== null) containers.add(yield* canonicalJsonInSteps(value))
    else if (typeof value === 'number') numbers.add(numberKey(value))
    else scalars.add(value)
    yield
  }
  return {
    has(value) {
      if (typeof value === 'string') spendOnText(value.length)
      if (typeof value === 'number') {
        spendOnJudging(1)
        return numbers.has(numberKey(value))
      }
      if (typeof value !== 'object' || value === null) return scalars.has(value)
      if (containers.size === 0) return false
      try {
        return containers.has(countedJson(value))
      } catch (error) {
        // What has no canonical text equals nothing that has.
        if (error instanceof TypeError) return false
        throw error
      }
    },
  }
}

/**
 * What stands for a number in a set or map. V8 gives numbers a hash that anybody can compute, so that whoever chooses
 * them can make all of them collide; texts have one that differs from process to process, if they are no numerals.
 */
export const numberKey = (value: number): string => `n${value}`

/** The canonical text of a value, whose writing is counted. */
export function countedJson(value: JsonValue): string {
  const text = canonicalJson(value)
  spendOnJudging(3 + (text.length >> 2))
  return text
}
