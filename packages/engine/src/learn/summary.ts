import type { CallFlow, Column, LeafFlow, ValueKind, ValueSource } from '@countersign/protocol'
import { argumentName, knownHash } from '../rules/sources.js'
import { namesByNumber } from './argument-words.js'
import { leavesOf } from './leaves.js'
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
import { comparable, tokensOf } from './value-kind.js'

/**
 * What was learned of one tool of one agent. Its size is bounded, and it depends only on which captures were added:
 * not on their order, and not on how they were split before merging.
 */
export interface ToolSummary {
  version: 2
  tool: string
  /** Calls learned from. */
  samples: number
  sessions: Sketch
  /** Distinct requests: how much is known counts in these, for a request made again teaches nothing new. */
  requests: Sketch
  shape: Shape
  /** By generalised path of the argument. */
  flows: Sample<FlowSummary>
  columns: Sample<ColumnSummary>
  order: OrderSummary
}

export interface FlowSummary {
  sessions: Sketch
  requests: Sketch
  /** Sessions in which the model wrote the value: free text, or words seen nowhere before. */
  composed: Sketch
  /** By origin, as `originKey` writes it. */
  origins: Sample<Witnesses>
  tokenOrigins: Sample<Witnesses>
  /** By hash of the value and place of trust it came from. */
  known: Sample<Sample<Witnesses>>
  /** Values judged, and how often each was the latest value of one single result. */
  values: number
  equals: Sample<Count>
}

/** Sessions, and distinct requests: the same thing asked for again is a second session and no second reason. */
export interface Witnesses {
  sessions: Sketch
  requests: Sketch
}

export interface ColumnSummary {
  /** Sessions by the kind of value that the column held. */
  kinds: Partial<Record<ValueKind, Sketch>>
}

export interface Count {
  count: number
}

/** First calls of a session, and how many of them came after each other tool. */
export interface OrderSummary {
  firsts: number
  after: Sample<Count>
  mostCalls: number
}

export const SUMMARY_LIMITS = {
  paths: 64,
  origins: 96,
  known: 256,
  knownPlaces: 4,
  /** Witnesses are asked for in ones and twos. */
  requests: 4,
  equals: 16,
  columns: 256,
  columnSessions: 16,
  priorTools: 64,
} as const

/** One call that was observed, and allowed where it was judged. */
export interface ObservedCall {
  readonly session: string
  /** Fingerprint of what the user asked for first: the same request made again is no second witness. */
  readonly request?: string | undefined
  readonly tool: string
  /** Null where the capture level keeps none. */
  readonly arguments: unknown
  readonly flow: CallFlow | null
  /** It ran and did not succeed: its arguments were possible, but no example of where good ones come from. */
  readonly failed?: boolean
}

export const newSummary = (tool: string): ToolSummary => ({
  version: 2,
  tool,
  samples: 0,
  sessions: [],
  requests: [],
  shape: newShape(),
  flows: newSample(),
  columns: newSample(),
  order: { firsts: 0, after: newSample(), mostCalls: 0 },
})

/** A summary as it was kept, perhaps by a version that did not count requests: then none are known. */
export function readSummary(kept: ToolSummary | Outdated): ToolSummary {
  if (kept.version === 2) return kept
  const entries = kept.flows.entries.map(([path, flow]): [string, FlowSummary] => [path, { ...flow, requests: [] }])
  return { ...kept, version: 2, requests: [], flows: { ...kept.flows, entries } }
}

type Outdated = Omit<ToolSummary, 'version' | 'requests' | 'flows'> & {
  version: 1
  flows: Sample<Omit<FlowSummary, 'requests'>>
}

/** Adds one call. The salt is the agent's: it keeps values apart from their hashes. */
export function addCall(summary: ToolSummary, call: ObservedCall, salt: string): void {
  const session = sketchHash(call.session)
  const request = call.request === undefined ? session : sketchHash(call.request)
  summary.samples++
  addToSketch(summary.sessions, session)
  addToSketch(summary.requests, request)
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
    addToSketch(flow.sessions, session)
    addToSketch(flow.requests, request)
    if (isComposed(leaf)) addToSketch(flow.composed, session)
    addEquals(flow, leaf.sources)
    if (typeof value === 'number' && !namesByNumber(path)) return
    addOrigin(flow.origins, originKey(leaf.kind, leaf.sources), { session, request })
    addKnown(flow, {
      hash: knownHash(salt, path, comparable(value, leaf.kind)),
      kind: leaf.kind,
      sources: leaf.sources,
      session,
      request,
    })
    const tokens = leaf.tokens === undefined || typeof value === 'number' ? [] : tokensOf(value, leaf.tokens.length)
    tokens.forEach((token, at) => {
      const sources = leaf.tokens?.[at]?.sources ?? []
      addOrigin(flow.tokenOrigins, originKey(token.kind, sources), { session, request })
      addKnown(flow, { hash: knownHash(salt, path, token.text), kind: token.kind, sources, session, request })
    })
  })
}

/** Adds what results of this tool were seen to hold. */
export function addColumns(summary: ToolSummary, session: string, columns: readonly Column[]): void {
  const hash = sketchHash(session)
  for (const { path, place, holds } of columns) {
    const column = sampled(summary.columns, `${place} ${path}`, SUMMARY_LIMITS.columns, newColumn)
    if (column === null) continue
    for (const kind of holds) {
      column.kinds[kind] ??= []
      addToSketch(column.kinds[kind], hash, SUMMARY_LIMITS.columnSessions)
    }
  }
}

/** The summary of everything added to either. */
export function mergeSummaries(a: ToolSummary, b: ToolSummary): ToolSummary {
  return {
    version: 2,
    tool: a.tool,
    samples: a.samples + b.samples,
    sessions: mergeSketches(a.sessions, b.sessions),
    requests: mergeSketches(a.requests, b.requests),
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
  return { kinds }
}

export function mergeFlows(a: FlowSummary, b: FlowSummary): FlowSummary {
  const origins = (x: Sample<Witnesses>, y: Sample<Witnesses>) =>
    mergeSamples(x, y, SUMMARY_LIMITS.origins, mergeWitnesses)
  return {
    sessions: mergeSketches(a.sessions, b.sessions),
    requests: mergeSketches(a.requests, b.requests),
    composed: mergeSketches(a.composed, b.composed),
    origins: origins(a.origins, b.origins),
    tokenOrigins: origins(a.tokenOrigins, b.tokenOrigins),
    known: mergeSamples(a.known, b.known, SUMMARY_LIMITS.known, (x, y) =>
      mergeSamples(x, y, SUMMARY_LIMITS.knownPlaces, mergeFewWitnesses),
    ),
    values: a.values + b.values,
    equals: mergeSamples(a.equals, b.equals, SUMMARY_LIMITS.equals, addCounts),
  }
}

export const mergeWitnesses = (a: Witnesses, b: Witnesses): Witnesses => ({
  sessions: mergeSketches(a.sessions, b.sessions),
  requests: mergeSketches(a.requests, b.requests, SUMMARY_LIMITS.requests),
})

const mergeFewWitnesses = (a: Witnesses, b: Witnesses): Witnesses => ({
  sessions: mergeSketches(a.sessions, b.sessions, SUMMARY_LIMITS.requests),
  requests: mergeSketches(a.requests, b.requests, SUMMARY_LIMITS.requests),
})

export const newFlow = (): FlowSummary => ({
  sessions: [],
  requests: [],
  composed: [],
  origins: newSample(),
  tokenOrigins: newSample(),
  known: newSample(),
  values: 0,
  equals: newSample(),
})

const isComposed = ({ kind, sources }: LeafFlow) => kind === 'prose' || (kind === 'name' && sources.length === 0)

const newCount = (): Count => ({ count: 0 })
const addCounts = (a: Count, b: Count): Count => ({ count: a.count + b.count })

const newWitnesses = (): Witnesses => ({ sessions: [], requests: [] })
const newColumn = (): ColumnSummary => ({ kinds: {} })

/** Kind and sources of a value as a key. What the user said needs no other witness. */
export function originKey(kind: ValueKind, sources: readonly ValueSource[]): string {
  const places = sources.some(({ seen }) => seen === 'user') ? [{ seen: 'user' } as const] : sources
  return JSON.stringify([kind, ...places.map((source) => placeOf(source))])
}

export type Place = [seen: ValueSource['seen'], tool: string, path: string]

const placeOf = (source: ValueSource): Place =>
  source.seen === 'user' ? ['user', '', ''] : [source.seen, source.tool, source.path]

export function readOriginKey(key: string): { kind: ValueKind; places: Place[] } {
  const [kind, ...places] = JSON.parse(key) as [ValueKind, ...Place[]]
  return { kind, places }
}

function addOrigin(
  origins: Sample<Witnesses>,
  key: string,
  { session, request }: { session: string; request: string },
): void {
  const witnesses = sampled(origins, key, SUMMARY_LIMITS.origins, newWitnesses)
  if (witnesses === null) return
  addToSketch(witnesses.sessions, session)
  addToSketch(witnesses.requests, request, SUMMARY_LIMITS.requests)
}

/** Only the user's words and whole cells can make a value known: free text is open to whoever wrote it. */
function addKnown(
  flow: FlowSummary,
  seen: { hash: string; kind: ValueKind; sources: readonly ValueSource[]; session: string; request: string },
): void {
  const trusted = seen.sources.filter(
    (source) => source.seen === 'user' || source.seen === 'cell' || source.seen === 'key',
  )
  if (trusted.length === 0) return
  const places = sampled(flow.known, seen.hash, SUMMARY_LIMITS.known, newSample<Witnesses>)
  if (places === null) return
  for (const source of trusted) {
    const witnesses = sampled(places, originKey(seen.kind, [source]), SUMMARY_LIMITS.knownPlaces, newWitnesses)
    if (witnesses === null) continue
    addToSketch(witnesses.sessions, seen.session, SUMMARY_LIMITS.requests)
    addToSketch(witnesses.requests, seen.request, SUMMARY_LIMITS.requests)
  }
}

/** Results with one value at a place: a binding can hold what they said last. */
function addEquals(flow: FlowSummary, sources: readonly ValueSource[]): void {
  flow.values++
  for (const source of sources) {
    if (source.seen !== 'cell' || source.latest !== true) continue
    const equal = sampled(flow.equals, JSON.stringify([source.tool, source.path]), SUMMARY_LIMITS.equals, newCount)
    if (equal !== null) equal.count++
  }
}

function addOrder(order: OrderSummary, flow: CallFlow): void {
  order.mostCalls = Math.max(order.mostCalls, flow.prior_calls + 1)
  if (flow.prior_calls > 0) return
  order.firsts++
  for (const tool of new Set(flow.prior_tools)) {
    const after = sampled(order.after, tool, SUMMARY_LIMITS.priorTools, newCount)
    if (after !== null) after.count++
  }
}

/** The summaries of all arguments of one name, over the tools of an agent: what to fall back on when one has few. */
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
