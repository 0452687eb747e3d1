import { newShape, type Shape } from './shape.js'
import type { Sample } from './sketch.js'
import type { ToolSummary } from './summary.js'

/** How deep a shape stays and how many members each sample keeps, in the order in which it is tried. */
const ROUNDS = [
  { depth: 6, most: 32 },
  { depth: 4, most: 16 },
  { depth: 3, most: 8 },
  { depth: 2, most: 4 },
  { depth: 1, most: 2 },
  { depth: 0, most: 0 },
] as const

/**
 * The summary as JSON of at most `most` characters. Samples are bounded one by one, and nested they can still grow beyond
 * what can be read back in a moment. A summary that is too long is thinned: deep places and the members that a smaller
 * sample would not have kept. What is left out is marked, so that a draft restricts nothing there.
 */
export function fitSummary(summary: ToolSummary, most: number): string {
  let text = JSON.stringify(summary)
  for (const round of ROUNDS) {
    if (text.length <= most) break
    thin(summary, round)
    text = JSON.stringify(summary)
  }
  return text
}

/** Words of requests are short beside the members of samples. */
const WORDS_PER_MEMBER = 4

type Round = (typeof ROUNDS)[number]

function thin(summary: ToolSummary, round: Round): void {
  thinShape(summary.shape, round, round.depth)
  const { flows, columns, order } = summary
  for (const sample of [flows, columns, order.after]) cut<unknown>(sample, round)
  if (summary.words !== undefined) summary.words = summary.words.slice(0, round.most * WORDS_PER_MEMBER)
  for (const [, flow] of flows.entries) {
    for (const sample of [flow.origins, flow.tokenOrigins, flow.dictated, flow.quoted, flow.known, flow.equals])
      cut<unknown>(sample, round)
  }
}

function cut<T>(sample: Sample<T>, { most }: Round): void {
  if (sample.entries.length <= most) return
  sample.entries.length = most
  sample.full = true
}

function thinShape(shape: Shape, round: Round, depth: number): void {
  for (const sample of [shape.values, shape.masks, shape.fields]) cut<unknown>(sample, round)
  if (depth > 0) {
    for (const [, field] of shape.fields.entries) thinShape(field.shape, round, depth - 1)
    if (shape.rest !== null) thinShape(shape.rest, round, depth - 1)
    if (shape.items !== null) thinShape(shape.items, round, depth - 1)
    return
  }
  // As if its keys were data and its arrays had been empty: a contract then says nothing about what is inside.
  shape.fields = { entries: [], full: shape.fields.full || shape.fields.entries.length > 0 }
  if (shape.types.object !== undefined) shape.rest = newShape()
  shape.items = null
}
