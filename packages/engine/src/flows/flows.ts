import {
  type CallFlow,
  type CallSigns,
  type Column,
  FLOW_LIMITS,
  type LeafFlow,
  type ValueKind,
  type ValueSource,
} from '@countersign/protocol'
import { saltedHash } from '../json/hash.js'
import { leavesOf } from '../json/leaves.js'
import { comparable, isAddress, kindOf, tokensOf, withoutSchemes } from '../json/value-kind.js'
import { findInText } from './find-in-text.js'
import { type Measures, measureOf, measuresIn } from './measures.js'
import { type Cell, readResult } from './read-result.js'
import { requestWords } from './request-words.js'
import { imperativesIn, mandateOf, stemsOf } from './signs.js'

/** What a conversation has shown so far, in bounded memory: the user's words, allowed calls and their results. */
export interface Trail {
  /** Key for the fingerprint of the first request; null for no fingerprint. */
  readonly key: string | null
  request: string | null
  /** Which words the first request has (`request-words.ts`). */
  requestWords: string | null
  /** The user's words by their stems; created when a call is first looked at. */
  said: Set<string> | null
  /** The most that one text of a result tells its reader to do. */
  imperative: number
  order: number
  userTexts: SeenText[]
  resultTexts: (SeenText & { tool: string; path: string })[]
  cells: ReadonlyMap<string, Sighting[]>
  /** Cells and arguments that are a date or a number, by `measureOf`. */
  measured: ReadonlyMap<string, Sighting[]>
  columns: ReadonlyMap<string, { column: Column; fresh: boolean }>
  /** The latest value of results with a single value at a place, by column. */
  latest: ReadonlyMap<string, string>
  calls: ReadonlyMap<string, number>
  characters: number
  incomplete: boolean
}

interface SeenText {
  readonly order: number
  readonly text: string
  /** Created when an address is first searched for. */
  lower?: string
  /** Created when a date or a number is first searched for. */
  measures?: Measures
}

interface Sighting {
  readonly order: number
  readonly source: ValueSource
}

export const TRAIL_LIMITS = {
  /** Characters of text stored for searching; later texts are left out, and flows say so. */
  characters: 4 * 1024 * 1024,
  /** Distinct cell values stored. */
  values: 50_000,
  valueLength: 2_048,
  columns: 2_048,
  tools: 512,
  /** Characters searched for one call. */
  work: 64 * 1024 * 1024,
} as const

/** Most conversations end before a result arrives, so their maps would be created for nothing. */
const NOTHING: ReadonlyMap<string, never> = new Map<string, never>()

/** A writable map in place of the empty one that all trails share. */
function writable<Name extends 'cells' | 'measured' | 'columns' | 'latest' | 'calls'>(
  trail: Trail,
  name: Name,
): Writable<Trail[Name]> {
  if (trail[name] === NOTHING) Object.assign(trail, { [name]: new Map() })
  return trail[name] as Writable<Trail[Name]>
}

type Writable<T> = T extends ReadonlyMap<infer Key, infer Value> ? Map<Key, Value> : never

/** A trail for a new conversation. */
export const newTrail = (key: string | null = null): Trail => ({
  key,
  request: null,
  requestWords: null,
  said: null,
  imperative: 0,
  order: 0,
  userTexts: [],
  resultTexts: [],
  cells: NOTHING,
  measured: NOTHING,
  columns: NOTHING,
  latest: NOTHING,
  calls: NOTHING,
  characters: 0,
  incomplete: false,
})

/** Records what the user said. */
export function sawUser(trail: Trail, text: string): void {
  const order = ++trail.order
  if (trail.key !== null && trail.request === null) {
    trail.request = saltedHash(trail.key, text.toWellFormed()).slice(0, 32)
    trail.requestWords = requestWords(trail.key, text)
  }
  if (!roomFor(trail, text)) return
  trail.userTexts.push({ order, text: withoutSchemes(text) })
  trail.said = null
}

/** Records a call that was allowed and ran. Its arguments count as sources for later calls. */
export function sawCall(trail: Trail, tool: string, argumentsValue: unknown): void {
  const order = ++trail.order
  if (trail.calls.has(tool) || trail.calls.size < TRAIL_LIMITS.tools) {
    writable(trail, 'calls').set(tool, (trail.calls.get(tool) ?? 0) + 1)
  }
  for (const { path, value } of leavesOf(argumentsValue).leaves) {
    const kind = kindOf(value)
    const sighting: Sighting = { order, source: { seen: 'argument', tool, path } }
    addSighting(trail, 'cells', comparable(value, kind), sighting)
    if (isMeasured(kind)) noteMeasure(trail, value, sighting)
  }
}

/** Records the result of an allowed call. The output of a failed call is text, never a table. */
export function sawResult(trail: Trail, tool: string, result: unknown, failed = false): void {
  const order = ++trail.order
  if (failed) {
    const text = textOf(result)
    noteText(trail, { order, tool, path: '$', text })
    if (kindOf(text) === 'prose') trail.imperative = Math.max(trail.imperative, imperativesIn(text))
    return
  }
  const { cells, cut } = readResult(result)
  if (cut) trail.incomplete = true
  for (const cell of cells) noteCell(trail, order, tool, cell)
}

const textOf = (result: unknown): string => (typeof result === 'string' ? result : (JSON.stringify(result) ?? ''))

function noteCell(trail: Trail, order: number, tool: string, { path, place, value }: Cell): void {
  const kind = kindOf(value)
  noteColumn(trail, tool, path, place, kind, typeof value === 'string' ? value.length : 0)
  if (kind === 'prose') trail.imperative = Math.max(trail.imperative, imperativesIn(String(value)))
  if (typeof value === 'boolean') return
  const text = comparable(value, kind)
  const sighting: Sighting = { order, source: { seen: place, tool, path } }
  addSighting(trail, 'cells', text, sighting)
  if (isMeasured(kind)) noteMeasure(trail, value, sighting)
  if (!path.includes('*') && text.length <= TRAIL_LIMITS.valueLength)
    writable(trail, 'latest').set(columnKey(tool, path, place), text)
  if (typeof value === 'string' && /\s|.{25}/.test(value)) noteText(trail, { order, tool, path, text: value })
}

function noteText(trail: Trail, text: Trail['resultTexts'][number]): void {
  if (roomFor(trail, text.text)) trail.resultTexts.push({ ...text, text: withoutSchemes(text.text) })
}

function noteColumn(
  trail: Trail,
  tool: string,
  path: string,
  place: 'cell' | 'key',
  kind: ValueKind,
  length: number,
): void {
  const key = columnKey(tool, path, place)
  const known = trail.columns.get(key)
  if (known === undefined) {
    if (trail.columns.size >= TRAIL_LIMITS.columns) trail.incomplete = true
    else
      writable(trail, 'columns').set(key, {
        column: { tool, path, place, holds: [kind], longest: length },
        fresh: true,
      })
    return
  }
  const { column } = known
  if (!column.holds.includes(kind)) {
    column.holds = [...column.holds, kind].sort()
    known.fresh = true
  }
  if (length > (column.longest ?? 0)) {
    column.longest = length
    known.fresh = true
  }
}

export const columnKey = (tool: string, path: string, place: 'cell' | 'key'): string =>
  JSON.stringify([tool, path, place])

/** Digits in quotes are an id to other rules, and still a number that somebody may have taken it from. */
const isMeasured = (kind: ValueKind): boolean => kind === 'date' || kind === 'number' || kind === 'id'

function noteMeasure(trail: Trail, value: string | number, sighting: Sighting): void {
  const { date, number } = measureOf(value)
  const key = date ?? number
  if (key !== null) addSighting(trail, 'measured', key, sighting)
}

function addSighting(trail: Trail, into: 'cells' | 'measured', value: string, sighting: Sighting): void {
  if (value === '' || value.length > TRAIL_LIMITS.valueLength) return
  const known = trail[into].get(value)
  if (known === undefined) {
    if (trail[into].size >= TRAIL_LIMITS.values) trail.incomplete = true
    else writable(trail, into).set(value, [sighting])
  } else if (
    known.length < 4 * FLOW_LIMITS.sourcesPerValue &&
    !known.some((old) => sameSource(old.source, sighting.source))
  ) {
    known.push(sighting)
  }
}

function roomFor(trail: Trail, text: string): boolean {
  if (trail.characters + text.length > TRAIL_LIMITS.characters) {
    trail.incomplete = true
    return false
  }
  trail.characters += text.length
  return true
}

const sameSource = (a: ValueSource, b: ValueSource): boolean =>
  a.seen === b.seen && (a.seen === 'user' || b.seen === 'user' || (a.tool === b.tool && a.path === b.path))

/** Where each argument of a proposed call was seen before. Does not change the trail. */
export function flowOf(trail: Trail, call: { id: string; tool: string; arguments: unknown }): CallFlow {
  const { leaves, cut } = leavesOf(call.arguments)
  const search = { trail, left: TRAIL_LIMITS.work }
  const flows = leaves.map(({ path, value }): LeafFlow => {
    const kind = kindOf(value)
    const sources = sourcesOf(search, value, kind)
    if (typeof value === 'number' || !/\s/.test(value)) return { path, kind, sources }
    const tokens = tokensOf(value, FLOW_LIMITS.tokensPerLeaf)
    return {
      path,
      kind,
      sources,
      tokens: tokens.map((token) => ({ kind: token.kind, sources: sourcesOf(search, token.text, token.kind, true) })),
    }
  })
  const incomplete = cut || trail.incomplete || search.left <= 0
  return {
    call_id: call.id,
    tool: call.tool,
    leaves: flows,
    prior_tools: [...trail.calls.keys()].slice(0, FLOW_LIMITS.priorTools),
    prior_calls: trail.calls.get(call.tool) ?? 0,
    ...(incomplete && { incomplete }),
    signs: signsOf(trail, call.tool),
  }
}

/** How the call fits the user's words, and what was read before it. */
function signsOf(trail: Trail, tool: string): CallSigns {
  trail.said ??= stemsOf(trail.userTexts.map(({ text }) => text).join('\n'))
  const long = [...trail.columns.values()]
    .filter(({ column }) => (column.longest ?? 0) >= LONG_TEXT)
    .map(({ column }) => ({ tool: column.tool, path: column.path, length: column.longest ?? 0 }))
  if (long.length > FLOW_LIMITS.longTexts) long.sort((a, b) => b.length - a.length)
  return {
    mandate: mandateOf(tool, trail.said),
    imperative: Math.min(trail.imperative, MOST_IMPERATIVES),
    texts: long.slice(0, FLOW_LIMITS.longTexts),
  }
}

/** Shorter texts tell nobody what to do. */
const LONG_TEXT = 40
const MOST_IMPERATIVES = 99

/** The columns that results have shown since the last time they were taken. */
export function takeColumns(trail: Trail): Column[] {
  const taken: Column[] = []
  for (const entry of trail.columns.values()) {
    if (!entry.fresh || taken.length >= FLOW_LIMITS.columns) continue
    entry.fresh = false
    taken.push({ ...entry.column })
  }
  return taken
}

interface Search {
  readonly trail: Trail
  left: number
}

function sourcesOf(search: Search, given: string | number, kind: ValueKind, isToken = false): ValueSource[] {
  const value = isToken ? String(given) : comparable(given, kind)
  if (value === '') return []
  const { trail } = search
  const found: Sighting[] = [...(trail.cells.get(value) ?? [])]
  if (kind === 'date' || kind === 'number') addMeasured(search, given, found)
  if (value.length <= TRAIL_LIMITS.valueLength) {
    for (const text of trail.userTexts) {
      if (look(search, text, value, kind) !== null) found.push({ order: text.order, source: { seen: 'user' } })
    }
    for (const text of trail.resultTexts) {
      const seen = look(search, text, value, kind)
      const { order, tool, path } = text
      if (seen !== null) found.push({ order, source: { seen, tool, path } })
    }
  }
  found.sort((a, b) => a.order - b.order)
  return distinct(found.map(({ source }) => source)).map((source) => withColumn(trail, source, value))
}

/** Where a date or a number was seen, in any spelling; inside a cell that is no free text it counts as that cell. */
function addMeasured(search: Search, value: string | number, found: Sighting[]): void {
  const { trail } = search
  const { date, day, number } = measureOf(value)
  const key = date ?? number
  if (key === null) return
  found.push(...(trail.measured.get(key) ?? []))
  const holds = (seen: SeenText): boolean => {
    if (search.left <= 0) return false
    if (seen.measures === undefined) search.left -= seen.text.length * WORK_OF_MEASURES
    seen.measures ??= measuresIn(seen.text)
    return date === null ? seen.measures.numbers.has(key) : seen.measures.dates.has(date)
  }
  for (const text of trail.userTexts) {
    if (holds(text) || (day !== null && text.measures?.days.has(day)))
      found.push({ order: text.order, source: { seen: 'user' } })
  }
  for (const text of trail.resultTexts) {
    const { order, tool, path } = text
    if (holds(text))
      found.push({ order, source: { seen: kindOf(text.text) === 'prose' ? 'prose' : 'cell', tool, path } })
  }
}

const WORK_OF_MEASURES = 8

/** Null if the value is not inside the text; a result that is just the value was already found as a cell. */
function look(search: Search, seen: SeenText, value: string, kind: ValueKind): 'line' | 'prose' | null {
  if (search.left <= 0) return null
  search.left -= seen.text.length
  const isResult = 'tool' in seen
  // A name that the user wrote in another case still counts; a result must match exactly.
  const folds = isAddress(kind) || (kind === 'name' && !isResult)
  if (folds) seen.lower ??= seen.text.toLowerCase()
  const text = folds ? (seen.lower ?? '') : seen.text
  const wanted = folds ? value.toLowerCase() : value
  return text === wanted && isResult ? null : findInText(text, wanted, seen.text)
}

/** Drops duplicates and limits the number. Sources that can justify a value come first, then the earliest. */
function distinct(sources: readonly ValueSource[]): ValueSource[] {
  const distinct: ValueSource[] = []
  for (const source of sources) if (!distinct.some((other) => sameSource(other, source))) distinct.push(source)
  if (distinct.length <= FLOW_LIMITS.sourcesPerValue) return distinct
  const rank = { user: 0, argument: 1, cell: 2, key: 3, line: 4, prose: 5 }
  const chosen = new Set(
    [...distinct].sort((a, b) => rank[a.seen] - rank[b.seen]).slice(0, FLOW_LIMITS.sourcesPerValue),
  )
  return distinct.filter((source) => chosen.has(source))
}

function withColumn(trail: Trail, source: ValueSource, value: string): ValueSource {
  if (source.seen !== 'cell' && source.seen !== 'key') return source
  const key = columnKey(source.tool, source.path, source.seen)
  const holds = trail.columns.get(key)?.column.holds
  const latest = trail.latest.get(key) === value
  return { ...source, ...(holds !== undefined && { holds }), ...(latest && { latest }) }
}
