import type { CallFlow, Column, ValueKind } from '@countersign/protocol'
import { argumentName } from '../contract/source-rule.js'
import { leavesOf } from '../json/leaves.js'
import { addCounts, addLeaf, type Count, type FlowSummary, mergeFlows, newCount, newFlow } from './flow-summary.js'
import { mergeWords, type RequestWords } from './request-groups.js'
import { addShape, mergeShapes, newShape, type Shape } from './shape.js'
import {
  addToSketch,
  mergeSamples,
  mergeSketches,
  newSample,
  type Sample,
  type Sketch,
  sampled,
  sketchHash,
} from './sketch.js'

/**
 * What was learned about one tool of one agent. Its size is bounded, and it depends only on which captures were added,
 * not on their order or how they were split before merging.
 */
export interface ToolSummary {
  version: 3
  tool: string
  /** Calls learned from. */
  samples: number
  sessions: Sketch
  /** Distinct requests: evidence is counted in these, because a repeated request teaches nothing new. */
  requests: Sketch
  /** Which words the requests have, of as many as fit. Absent in what an older version learned. */
  words?: RequestWords[]
  shape: Shape
  /** By generalised path of the argument. */
  flows: Sample<FlowSummary>
  columns: Sample<ColumnSummary>
  order: OrderSummary
}

export interface ColumnSummary {
  /** Sessions by the kind of value in the column. */
  kinds: Partial<Record<ValueKind, Sketch>>
  /** The length of the longest text in it. Absent in what an older version learned. */
  longest?: number
}

/** First calls of a session, and how many of them followed each other tool. */
export interface OrderSummary {
  firsts: number
  after: Sample<Count>
  mostCalls: number
}

export const SUMMARY_LIMITS = {
  paths: 64,
  columns: 256,
  columnSessions: 16,
  priorTools: 64,
} as const

/** One observed call; if it was judged, it was allowed. */
export interface ObservedCall {
  readonly session: string
  /** Fingerprint of the user's first request: a repeated request is no further evidence. */
  readonly request?: string | undefined
  /** Which words it has (`request-words.ts`): the same request in other words is no further evidence either. */
  readonly requestWords?: string | undefined
  readonly tool: string
  /** Null if the capture level stores none. */
  readonly arguments: unknown
  readonly flow: CallFlow | null
  /** It ran and failed: its arguments were valid, but they do not show where good ones come from. */
  readonly failed?: boolean
}

/** An empty summary of a tool. */
export const newSummary = (tool: string): ToolSummary => ({
  version: 3,
  tool,
  samples: 0,
  sessions: [],
  requests: [],
  shape: newShape(),
  flows: newSample(),
  columns: newSample(),
  order: { firsts: 0, after: newSample(), mostCalls: 0 },
})

/** Reads a stored summary, perhaps from a version that noted less; what it did not note is unknown. */
export function readSummary(stored: ToolSummary | Outdated): ToolSummary {
  if (stored.version === 3) return stored
  const entries = stored.flows.entries.map(([path, flow]): [string, FlowSummary] => [path, { ...newFlow(), ...flow }])
  return { requests: [], ...stored, version: 3, flows: { ...stored.flows, entries } }
}

type Outdated = Omit<ToolSummary, 'version' | 'requests' | 'flows'> & {
  version: 1 | 2
  requests?: Sketch
  flows: Sample<Partial<FlowSummary>>
}

/** Adds one call. The salt is the agent's, for hashes of values. */
export function addCall(summary: ToolSummary, call: ObservedCall, salt: string): void {
  const session = sketchHash(call.session)
  const request = call.request === undefined ? session : sketchHash(call.request)
  summary.samples++
  addToSketch(summary.sessions, session)
  addToSketch(summary.requests, request)
  if (call.requestWords !== undefined) summary.words = mergeWords(summary.words, [[request, call.requestWords]])
  if (call.arguments === null || call.arguments === undefined) return
  addShape(summary.shape, call.arguments)
  if (call.flow === null || call.failed === true) return
  addOrder(summary.order, call.flow)
  const { leaves } = leavesOf(call.arguments)
  leaves.forEach(({ path, value }, index) => {
    const leaf = call.flow?.leaves[index]
    if (leaf === undefined || leaf.path !== path) return
    const flow = sampled(summary.flows, path, SUMMARY_LIMITS.paths, newFlow)
    if (flow === null) return
    addLeaf(flow, { path, value, leaf, session, request, salt })
  })
}

/** Adds what was seen in results of this tool. */
export function addColumns(summary: ToolSummary, session: string, columns: readonly Column[]): void {
  const hash = sketchHash(session)
  for (const { path, place, holds, longest } of columns) {
    const column = sampled(summary.columns, `${place} ${path}`, SUMMARY_LIMITS.columns, newColumn)
    if (column === null) continue
    if (longest !== undefined) column.longest = Math.max(column.longest ?? 0, longest)
    for (const kind of holds) {
      column.kinds[kind] ??= []
      addToSketch(column.kinds[kind], hash, SUMMARY_LIMITS.columnSessions)
    }
  }
}

/** Merges two summaries into one of everything added to either. */
export function mergeSummaries(a: ToolSummary, b: ToolSummary): ToolSummary {
  return {
    version: 3,
    tool: a.tool,
    samples: a.samples + b.samples,
    sessions: mergeSketches(a.sessions, b.sessions),
    requests: mergeSketches(a.requests, b.requests),
    ...((a.words ?? b.words) && { words: mergeWords(a.words, b.words ?? []) }),
    shape: mergeShapes(a.shape, b.shape),
    flows: mergeSamples(a.flows, b.flows, SUMMARY_LIMITS.paths, mergeFlows),
    columns: mergeSamples(a.columns, b.columns, SUMMARY_LIMITS.columns, mergeColumns),
    order: {
      firsts: a.order.firsts + b.order.firsts,
      after: mergeSamples(a.order.after, b.order.after, SUMMARY_LIMITS.priorTools, addCounts),
      mostCalls: Math.max(a.order.mostCalls, b.order.mostCalls),
    },
  }
}

function mergeColumns(a: ColumnSummary, b: ColumnSummary): ColumnSummary {
  const kinds: ColumnSummary['kinds'] = { ...a.kinds }
  for (const kind of Object.keys(b.kinds) as ValueKind[]) {
    kinds[kind] = mergeSketches(a.kinds[kind] ?? [], b.kinds[kind] ?? [], SUMMARY_LIMITS.columnSessions)
  }
  const longest = Math.max(a.longest ?? -1, b.longest ?? -1)
  return { kinds, ...(longest >= 0 && { longest }) }
}

const newColumn = (): ColumnSummary => ({ kinds: {} })

function addOrder(order: OrderSummary, flow: CallFlow): void {
  order.mostCalls = Math.max(order.mostCalls, flow.prior_calls + 1)
  if (flow.prior_calls > 0) return
  order.firsts++
  for (const tool of new Set(flow.prior_tools)) {
    const after = sampled(order.after, tool, SUMMARY_LIMITS.priorTools, newCount)
    if (after !== null) after.count++
  }
}

/** Merges the arguments of one name over all tools of an agent: the fallback for an argument with few samples. */
export function poolByName(summaries: readonly ToolSummary[]): Map<string, FlowSummary> {
  const pool = new Map<string, FlowSummary>()
  for (const summary of summaries) {
    for (const [path, flow] of summary.flows.entries) {
      const name = argumentName(path)
      const other = pool.get(name)
      pool.set(name, other === undefined ? flow : mergeFlows(other, flow))
    }
  }
  return pool
}
