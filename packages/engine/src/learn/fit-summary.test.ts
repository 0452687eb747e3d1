import type { JsonObject, JsonValue } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { draftContracts } from './draft.js'
import { fitSummary } from './fit-summary.js'
import { addShape, newShape, SHAPE_LIMITS } from './shape.js'
import { addCall, newSummary, readSummary, type ToolSummary } from './summary.js'

const MOST = 20_000

/** As many fields, nested as deeply, as a shape keeps. */
const nested = (depth: number): JsonObject =>
  Object.fromEntries(
    Array.from({ length: 12 }, (_, at) => [`field_${at}`, depth === 0 ? `value ${at}` : nested(depth - 1)]),
  )

const summaryOf = (args: JsonValue): ToolSummary => {
  const summary = newSummary('write_down')
  for (let session = 0; session < 20; session++)
    addCall(summary, { tool: 'write_down', session: `s${session}`, arguments: args, flow: null }, 'salt')
  return summary
}

test('a summary that is too long is thinned until it fits, and can be read back', () => {
  const summary = summaryOf(nested(3))
  expect(JSON.stringify(summary).length).toBeGreaterThan(10 * MOST)
  const text = fitSummary(summary, MOST)
  expect(text.length).toBeLessThanOrEqual(MOST)
  expect(readSummary(JSON.parse(text)).samples).toBe(20)
})

test('what was left out restricts nothing: a draft of a thinned summary names no field that it forgot', () => {
  const summary = summaryOf(nested(3))
  const read = readSummary(JSON.parse(fitSummary(summary, 2_000)) as ToolSummary)
  const [draft] = draftContracts([read], { salt: 'salt', otherwise: 'ask' })
  const text = JSON.stringify(draft?.contract)
  expect(text).not.toContain('"additionalProperties":false')
  expect(text).not.toContain('value 1')
})

test('a summary that fits stays as it is', () => {
  const summary = summaryOf({ to: 'Ann' })
  expect(fitSummary(summary, MOST)).toBe(JSON.stringify(summary))
})

test('of one call 2,048 values are looked at closely, and all count by type and extremes', () => {
  expect(SHAPE_LIMITS.valuesPerCall).toBe(2_048)
  const shape = newShape()
  addShape(
    shape,
    Array.from({ length: 5_000 }, (_, at) => at),
  )
  const { items } = shape
  expect(items?.types).toEqual({ integer: 5_000 })
  expect([items?.minimum, items?.maximum]).toEqual([0, 4_999])
  // The list itself is one of them.
  expect(Object.values(items?.kinds ?? {}).reduce((sum, count) => sum + count, 0)).toBe(2_047)
  expect(items?.values.full).toBe(true)
})
