import type { CompiledSession, JsonValue } from '@countersign/protocol'
import { policyWeight } from '../contract/cedar-text.js'
import { leastSize } from '../text/regex-size.js'

/**
 * About what a prepared plan keeps in memory, in bytes, by its JSON alone. What is compiled weighs most: a short pattern
 * with large repeat counts takes ten thousand times its text.
 */
export function planWeight({ session, contracts }: CompiledSession, length: number): number {
  const policies = new Set<string>()
  let bytes = contracts.length * WEIGHT_OF_CONTRACT + length * WEIGHT_OF_CHARACTER
  bytes += weightOf({ ...session, contracts } as unknown as JsonValue, policies)
  // One that many tools have is parsed once.
  for (const policy of policies) bytes += policyWeight(policy)
  return bytes
}

function weightOf(value: JsonValue, policies: Set<string>): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + weightOf(item, policies), 0)
  let bytes = 0
  for (const [key, part] of Object.entries(value)) {
    if (typeof part === 'string') {
      if (key === 'cedar') policies.add(part)
      else if (PATTERNS.has(key)) bytes += weightOfPattern(part)
      else if (part.startsWith('$')) bytes += WEIGHT_OF_PATH + part.length * WEIGHT_OF_PATH_CHARACTER
    } else if (part !== undefined) {
      if (key === 'schema' || key === 'arguments') bytes += WEIGHT_OF_SCHEMA
      if (key === 'patternProperties' && typeof part === 'object')
        for (const pattern of Object.keys(part ?? {})) bytes += weightOfPattern(pattern)
      bytes += weightOf(part, policies)
    }
  }
  return bytes
}

const PATTERNS: ReadonlySet<string> = new Set(['regex', 'not_regex', 'pattern'])

const weightOfPattern = (pattern: string): number =>
  WEIGHT_OF_PATTERN +
  leastSize(pattern).instructions * WEIGHT_OF_INSTRUCTION +
  (pattern.match(/\\p/gi)?.length ?? 0) * WEIGHT_OF_PROPERTY

/** As measured, in bytes. */
const WEIGHT_OF_CONTRACT = 2_048
const WEIGHT_OF_CHARACTER = 24
const WEIGHT_OF_PATH = 4_608
const WEIGHT_OF_PATH_CHARACTER = 96
const WEIGHT_OF_SCHEMA = 4_096
const WEIGHT_OF_PATTERN = 16_384
const WEIGHT_OF_INSTRUCTION = 192
const WEIGHT_OF_PROPERTY = 8_192
