import {
  type CallFlow,
  type CallSigns,
  FLOW_LIMITS,
  type LeafFlow,
  type ValueKind,
  type ValueSource,
} from '@countersign/protocol'
import { leavesOf } from '../json/leaves.js'
import { comparable, isAddress, kindOf, tokensOf } from '../json/value-kind.js'
import { findInText } from './find-in-text.js'
import { bare } from './given-values.js'
import { measureOf, measuresIn } from './measures.js'
import { mandateOf, stemsOf } from './signs.js'
import { columnKey, type SeenText, type Sighting, sameSource, TRAIL_LIMITS, type Trail } from './trail.js'

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

/** Shorter texts give no orders. */
const LONG_TEXT = 40
const MOST_IMPERATIVES = 99

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
      const { order, tool, path, given } = text
      if (seen !== null) found.push({ order, source: { seen, tool, path }, echo: given?.has(value) === true })
    }
  }
  const counted = withoutEchoes(trail, value, found).sort((a, b) => a.order - b.order)
  return distinct(counted.map(({ source }) => source)).map((source) => withColumn(trail, source, value))
}

/**
 * What only repeats an argument of its own call says nothing of where that came from, unless the user or a field of an
 * earlier result had named it before.
 */
function withoutEchoes(trail: Trail, value: string, found: Sighting[]): Sighting[] {
  if (!found.some(({ echo }) => echo === true)) return found
  const before = found
    .filter((sighting) => sighting.echo !== true && isNamed(trail, sighting))
    .map(({ order }) => order)
  const wanted = bare(value)
  for (const text of wanted.length < SHORTEST_BARE ? [] : trail.userTexts) {
    text.bare ??= bare(text.text)
    if (text.bare.includes(wanted)) before.push(text.order)
  }
  const first = Math.min(...before)
  return found.filter(({ echo, order }) => echo !== true || order > first)
}

/** Shorter values stand in many texts by accident. */
const SHORTEST_BARE = 5

/** By the user, or by a whole field of a result that is no free text. */
function isNamed(trail: Trail, { source }: Sighting): boolean {
  if (source.seen === 'user') return true
  if (source.seen !== 'cell' && source.seen !== 'key') return false
  return trail.columns.get(columnKey(source.tool, source.path, source.seen))?.column.holds.includes('prose') !== true
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
    const { order, tool, path, given } = text
    if (holds(text)) {
      const seen = kindOf(text.text) === 'prose' ? 'prose' : 'cell'
      found.push({ order, source: { seen, tool, path }, echo: given?.hasMeasure(key) === true })
    }
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
