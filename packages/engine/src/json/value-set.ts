import type { JsonValue } from '@countersign/protocol'
import { canonicalJson } from './canonical-json.js'

/** Values that can be looked up by equality as JSON, in time that does not depend on how many there are. */
export interface ValueSet {
  has(value: JsonValue): boolean
}

export function valueSet(values: readonly JsonValue[]): ValueSet {
  const scalars = new Set<string | boolean | null>()
  const numbers = new Set<string>()
  const containers = new Set<string>()
  for (const value of values) {
    if (typeof value === 'object' && value !== null) containers.add(canonicalJson(value))
    else if (typeof value === 'number') numbers.add(numberKey(value))
    else scalars.add(value)
  }
  return {
    has(value) {
      if (typeof value === 'number') return numbers.has(numberKey(value))
      if (typeof value !== 'object' || value === null) return scalars.has(value)
      if (containers.size === 0) return false
      try {
        return containers.has(canonicalJson(value))
      } catch (error) {
        // What has no canonical text equals nothing that has.
        if (error instanceof TypeError) return false
        throw error
      }
    },
  }
}

/**
 * What stands for a number in a set or map. V8 gives numbers a hash that can be computed, so numbers can be chosen
 * that all collide; texts have one that differs from process to process, if they are no numerals.
 */
export const numberKey = (value: number): string => `n${value}`
