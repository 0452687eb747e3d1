import { FLOW_LIMITS } from '@countersign/protocol'
import { leavesOf } from '../json/leaves.js'
import { tokensOf } from '../json/value-kind.js'
import { measureOf } from './measures.js'

/** What the arguments of a call held. A result that repeats a value says nothing of where that came from. */
export interface GivenValues {
  has(value: string | number): boolean
  /** A date or a number, by `measureOf`. */
  hasMeasure(measure: string): boolean
}

/** Null if there is nothing that a result could repeat. */
export function givenValues(argumentsValue: unknown): GivenValues | null {
  const values = new Set<string>()
  const measures = new Set<string>()
  for (const { value } of leavesOf(argumentsValue).leaves) {
    values.add(bare(value))
    const { date, number } = measureOf(value)
    measures.add(date ?? number ?? '')
    if (typeof value === 'number' || !/[\s,;]/.test(value)) continue
    for (const { text } of tokensOf(value, FLOW_LIMITS.tokensPerLeaf)) values.add(bare(text))
    for (const part of value.split(/[,;\n]/, FLOW_LIMITS.tokensPerLeaf)) values.add(bare(part))
  }
  values.delete('')
  if (values.size === 0) return null
  return { has: (value) => values.has(bare(value)), hasMeasure: (measure) => measures.has(measure) }
}

/** Letters and digits alone, without case: a tool may repeat a value in another form. */
export const bare = (value: string | number): string =>
  String(value)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
