import { type Column, FLOW_LIMITS, type ValueKind, type ValueSource } from '@countersign/protocol'
import { saltedHash } from '../json/hash.js'
import { leavesOf } from '../json/leaves.js'
import { comparable, kindOf, withoutSchemes } from '../json/value-kind.js'
import { type GivenValues, givenValues } from './given-values.js'
import { type Measures, measureOf } from './measures.js'
import { type Cell, readResult } from './read-result.js'
import { requestWords } from './request-words.js'
import { imperativesIn } from './signs.js'

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
  resultTexts: (SeenText & { tool: string; path: string; given: GivenValues | null })[]
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

export interface SeenText {
  readonly order: number
  readonly text: string
  /** Created when an address is first searched for. */
  lower?: string
  /** Created when a date or a number is first searched for. */
  measures?: Measures
  /** Letters and digits alone; created when an echo is first looked for. */
  bare?: string
}

export interface Sighting {
  readonly order: number
  readonly source: ValueSource
  /** The result repeats what stood in the call's own arguments. */
  readonly echo?: boolean
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

/** Records the result of an allowed call, whose own arguments it may repeat. The output of a failed call is text, never a table. */
export function sawResult(trail: Trail, tool: string, result: unknown, call: ResultOf = {}): void {
  const order = ++trail.order
  const given = givenValues(call.arguments)
  if (call.failed === true) {
    const text = textOf(result)
    noteText(trail, { order, tool, path: '$', text, given })
    if (kindOf(text) === 'prose') trail.imperative = Math.max(trail.imperative, imperativesIn(text))
    return
  }
  const { cells, cut } = readResult(result)
  if (cut) trail.incomplete = true
  for (const cell of cells) noteCell(trail, cell, { order, tool, given })
}

/** The call that gave a result. */
interface ResultOf {
  readonly arguments?: unknown
  readonly failed?: boolean | undefined
}

const textOf = (result: unknown): string => (typeof result === 'string' ? result : (JSON.stringify(result) ?? ''))

type Given = Pick<Trail['resultTexts'][number], 'order' | 'tool' | 'given'>

function noteCell(trail: Trail, { path, place, value }: Cell, { order, tool, given }: Given): void {
  const kind = kindOf(value)
  noteColumn(trail, tool, path, place, kind, typeof value === 'string' ? value.length : 0)
  if (kind === 'prose') trail.imperative = Math.max(trail.imperative, imperativesIn(String(value)))
  if (typeof value === 'boolean') return
  const text = comparable(value, kind)
  const echo = given !== null && text.length <= TRAIL_LIMITS.valueLength && given.has(value)
  const sighting: Sighting = { order, source: { seen: place, tool, path }, ...(echo && { echo }) }
  addSighting(trail, 'cells', text, sighting)
  if (isMeasured(kind)) noteMeasure(trail, value, sighting, given)
  if (!path.includes('*') && text.length <= TRAIL_LIMITS.valueLength)
    writable(trail, 'latest').set(columnKey(tool, path, place), text)
  if (typeof value === 'string' && /\s|.{25}/.test(value)) noteText(trail, { order, tool, path, text: value, given })
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

/** Digits in quotes are an id to other rules, and still a number that a value may come from. */
const isMeasured = (kind: ValueKind): boolean => kind === 'date' || kind === 'number' || kind === 'id'

function noteMeasure(trail: Trail, value: string | number, sighting: Sighting, given: GivenValues | null = null): void {
  const { date, number } = measureOf(value)
  const key = date ?? number
  if (key === null) return
  addSighting(trail, 'measured', key, given?.hasMeasure(key) === true ? { ...sighting, echo: true } : sighting)
}

function addSighting(trail: Trail, into: 'cells' | 'measured', value: string, sighting: Sighting): void {
  if (value === '' || value.length > TRAIL_LIMITS.valueLength) return
  const known = trail[into].get(value)
  if (known === undefined) {
    if (trail[into].size >= TRAIL_LIMITS.values) trail.incomplete = true
    else writable(trail, into).set(value, [sighting])
    return
  }
  const same = known.findIndex((old) => sameSource(old.source, sighting.source))
  if (same === -1) {
    if (known.length < 4 * FLOW_LIMITS.sourcesPerValue) known.push(sighting)
  } else if (known[same]?.echo === true) known[same] = sighting
}

function roomFor(trail: Trail, text: string): boolean {
  if (trail.characters + text.length > TRAIL_LIMITS.characters) {
    trail.incomplete = true
    return false
  }
  trail.characters += text.length
  return true
}

export const sameSource = (a: ValueSource, b: ValueSource): boolean =>
  a.seen === b.seen && (a.seen === 'user' || b.seen === 'user' || (a.tool === b.tool && a.path === b.path))

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
