import type { LeafFlow, ValueKind, ValueSource } from '@countersign/protocol'
import { knownHash } from '../contract/source-rule.js'
import { namesByNumber } from '../flows/argument-words.js'
import type { Leaf } from '../json/leaves.js'
import { comparable, isQuotable, isWorded, tokensOf } from '../json/value-kind.js'
import { addToSketch, mergeSamples, mergeSketches, newSample, type Sample, type Sketch, sampled } from './sketch.js'

/** Where the values of one argument came from. */
export interface FlowSummary {
  sessions: Sketch
  requests: Sketch
  /** Sessions in which the model wrote the value: free text, or words seen nowhere before. */
  composed: Sketch
  /** Requests in which a name or text was seen nowhere before. */
  invented: Sketch
  /** Places in free text that dates and numbers were taken from, where nothing better explains them. */
  dictated: Sample<Witnesses>
  /** Places in free text that four words and more were taken from as they are. */
  quoted: Sample<Witnesses>
  /** By origin, as `originKey` writes it. */
  origins: Sample<Witnesses>
  tokenOrigins: Sample<Witnesses>
  /** By hash of the value and the trusted place it came from. */
  known: Sample<Sample<Witnesses>>
  /** Values judged, and how often each was the latest value of a single result. */
  values: number
  equals: Sample<Count>
}

/** Sessions and distinct requests: a repeated request is another session but no further evidence. */
export interface Witnesses {
  sessions: Sketch
  requests: Sketch
}

export interface Count {
  count: number
}

const ARGUMENT_LIMITS = {
  origins: 96,
  known: 256,
  knownPlaces: 4,
  /** Two witnesses are required at most; the rest is room for one request in several wordings. */
  requests: 8,
  equals: 16,
} as const

export const newFlow = (): FlowSummary => ({
  sessions: [],
  requests: [],
  composed: [],
  invented: [],
  dictated: newSample(),
  quoted: newSample(),
  origins: newSample(),
  tokenOrigins: newSample(),
  known: newSample(),
  values: 0,
  equals: newSample(),
})

/** A value of the argument, and where it was seen before. */
export interface SeenLeaf {
  readonly path: string
  readonly value: Leaf['value']
  readonly leaf: LeafFlow
  /** As sketches store them. */
  readonly session: string
  readonly request: string
  /** The agent's salt for hashes of values. */
  readonly salt: string
}

export function addLeaf(flow: FlowSummary, { path, value, leaf, session, request, salt }: SeenLeaf): void {
  addToSketch(flow.sessions, session)
  addToSketch(flow.requests, request)
  if (isComposed(leaf)) addToSketch(flow.composed, session)
  if (leaf.sources.length === 0 && isName(leaf.kind)) addToSketch(flow.invented, request)
  addEquals(flow, leaf.sources)
  const place = textPlaceOf(leaf)
  if (place !== null) {
    if (isMeasure(leaf.kind)) addOrigin(flow.dictated, place, { session, request })
    else if (isQuotable(value)) addOrigin(flow.quoted, place, { session, request })
  }
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
}

const isComposed = ({ kind, sources }: LeafFlow) => isWorded(kind) || (kind === 'name' && sources.length === 0)
const isName = (kind: ValueKind) => kind === 'name' || isWorded(kind)
const isMeasure = (kind: ValueKind) => kind === 'date' || kind === 'number'

/** The first place where free text stands, as `originKey` writes a place; null where something better explains the value. */
function textPlaceOf({ kind, sources }: LeafFlow): string | null {
  if (!sources.every((source) => standsInText(kind, source))) return null
  const [first] = sources
  return first === undefined ? null : JSON.stringify(placeOf(first))
}

const standsInText = (kind: ValueKind, source: ValueSource): boolean =>
  source.seen === 'line' ||
  source.seen === 'prose' ||
  (kind !== 'prose' && (source.seen === 'cell' || source.seen === 'key') && source.holds?.includes('prose') === true)

export function mergeFlows(a: FlowSummary, b: FlowSummary): FlowSummary {
  const origins = (x: Sample<Witnesses>, y: Sample<Witnesses>) =>
    mergeSamples(x, y, ARGUMENT_LIMITS.origins, mergeWitnesses)
  return {
    sessions: mergeSketches(a.sessions, b.sessions),
    requests: mergeSketches(a.requests, b.requests),
    composed: mergeSketches(a.composed, b.composed),
    invented: mergeSketches(a.invented, b.invented),
    dictated: origins(a.dictated, b.dictated),
    quoted: origins(a.quoted, b.quoted),
    origins: origins(a.origins, b.origins),
    tokenOrigins: origins(a.tokenOrigins, b.tokenOrigins),
    known: mergeSamples(a.known, b.known, ARGUMENT_LIMITS.known, (x, y) =>
      mergeSamples(x, y, ARGUMENT_LIMITS.knownPlaces, mergeFewWitnesses),
    ),
    values: a.values + b.values,
    equals: mergeSamples(a.equals, b.equals, ARGUMENT_LIMITS.equals, addCounts),
  }
}

export const mergeWitnesses = (a: Witnesses, b: Witnesses): Witnesses => ({
  sessions: mergeSketches(a.sessions, b.sessions),
  requests: mergeSketches(a.requests, b.requests, ARGUMENT_LIMITS.requests),
})

const mergeFewWitnesses = (a: Witnesses, b: Witnesses): Witnesses => ({
  sessions: mergeSketches(a.sessions, b.sessions, ARGUMENT_LIMITS.requests),
  requests: mergeSketches(a.requests, b.requests, ARGUMENT_LIMITS.requests),
})

const newWitnesses = (): Witnesses => ({ sessions: [], requests: [] })

export const newCount = (): Count => ({ count: 0 })
export const addCounts = (a: Count, b: Count): Count => ({ count: a.count + b.count })

/** Kind and sources of a value as a key. What the user said needs no other source. */
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
  const witnesses = sampled(origins, key, ARGUMENT_LIMITS.origins, newWitnesses)
  if (witnesses === null) return
  addToSketch(witnesses.sessions, session)
  addToSketch(witnesses.requests, request, ARGUMENT_LIMITS.requests)
}

/** Only the user's words and whole cells can make a value known: anyone may have written free text. */
function addKnown(
  flow: FlowSummary,
  seen: { hash: string; kind: ValueKind; sources: readonly ValueSource[]; session: string; request: string },
): void {
  const trusted = seen.sources.filter(
    (source) => source.seen === 'user' || source.seen === 'cell' || source.seen === 'key',
  )
  if (trusted.length === 0) return
  const places = sampled(flow.known, seen.hash, ARGUMENT_LIMITS.known, newSample<Witnesses>)
  if (places === null) return
  for (const source of trusted) {
    const witnesses = sampled(places, originKey(seen.kind, [source]), ARGUMENT_LIMITS.knownPlaces, newWitnesses)
    if (witnesses === null) continue
    addToSketch(witnesses.sessions, seen.session, ARGUMENT_LIMITS.requests)
    addToSketch(witnesses.requests, seen.request, ARGUMENT_LIMITS.requests)
  }
}

/** Results with a single value at a place, whose latest value a binding can hold. */
function addEquals(flow: FlowSummary, sources: readonly ValueSource[]): void {
  flow.values++
  for (const source of sources) {
    if (source.seen !== 'cell' || source.latest !== true) continue
    const equal = sampled(flow.equals, JSON.stringify([source.tool, source.path]), ARGUMENT_LIMITS.equals, newCount)
    if (equal !== null) equal.count++
  }
}
