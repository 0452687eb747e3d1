import type { Otherwise, ResultColumn, SideEffect, SourceOrigin, SourceRule, ValueKind } from '@countersign/protocol'
import {
  argumentName,
  isActionable,
  isIdentifierCell,
  isUnjudged,
  type SourceContext,
} from '../contract/source-rule.js'
import { isWritten, namesByNumber } from '../flows/argument-words.js'
import { type FlowSummary, mergeWitnesses, type Place, readOriginKey, type Witnesses } from './flow-summary.js'
import type { RequestGroups } from './request-groups.js'
import { countOf, mergeSketches, type Sample, type Sketch } from './sketch.js'
import { SUMMARY_LIMITS, type ToolSummary } from './summary.js'

/** What drafting one tool's sources needs to know about the agent's other tools. */
export interface SourceLearning extends SourceContext {
  readonly pool: ReadonlyMap<string, FlowSummary>
  readonly salt: string
  readonly otherwise: Otherwise
  readonly requests: RequestGroups
}

export const SUPPORT = {
  /** Distinct sessions that make a habit. */
  sessions: 2,
  /** Distinct requests that make a habit: a repeated request is no further evidence. */
  requests: 2,
  /** Values from free text, which an outsider could exploit, must also be a real share of what the tool does. */
  openShare: 0.2,
  /** With this many sessions an argument's own history says whether it is content; below, that of its name does. */
  role: 3,
  measureShare: 0.75,
  /** A tool that answers with tables and only this rarely with a sentence ("nothing found") still counts as tabular. */
  remarkShare: 0.2,
} as const

/** Where the values of one argument may come from. */
export function draftSource(
  argument: { readonly path: string; readonly effect: SideEffect; readonly flow: FlowSummary | undefined },
  learning: SourceLearning,
): SourceRule {
  const { path, flow } = argument
  const named = learning.pool.get(argumentName(path))
  const numbers = namesByNumber(path)
  const own = flow ?? named
  if (named !== undefined && isMeasure(named, numbers)) return measureRule(path, own, learning)
  const role = isFree(path, flow, named, learning) ? 'content' : (roleOf(flow) ?? roleOf(named))
  const from: SourceOrigin[] = ['user', 'argument', 'identifier']
  const known = named === undefined ? [] : knownValues(named, argument.effect, learning)
  if (known.length > 0) from.push('known')
  from.push(...habits(role, own, named, learning))
  if (own !== undefined) from.push(...takenPlaces(own, from, learning))
  return {
    path,
    // What is not content is judged by its shape: free text identifies only what it mentions.
    ...(role === 'content' && { role }),
    ...(numbers && { numbers: true as const }),
    from,
    ...(known.length > 0 && { known: { salt: learning.salt, hashes: known } }),
    ...judgedBeside(learning),
    otherwise: learning.otherwise,
  }
}

/** An argument that the contract's schema restricts to a list. */
export const choiceSource = (path: string, { otherwise }: Pick<SourceLearning, 'otherwise'>): SourceRule => ({
  path,
  role: 'choice',
  from: ['user'],
  otherwise,
})

/** What holds of every argument, whatever was learned of it: also of those not seen yet. */
export const defaultSource = (learning: Pick<SourceLearning, 'otherwise'>): SourceRule => ({
  path: '$',
  from: ['user', 'argument', 'identifier'],
  ...judgedBeside(learning),
  otherwise: learning.otherwise,
})

/** People quote and models make addresses up for good reasons too: a person decides. */
const judgedBeside = ({ otherwise }: Pick<SourceLearning, 'otherwise'>) => ({
  dictated: otherwise,
  quoted: otherwise === 'note' ? otherwise : ('ask' as const),
  invented: otherwise === 'note' ? otherwise : ('ask' as const),
})

/** Dates, amounts and flags identify nothing: they are judged only if free text dictates them. */
function measureRule(path: string, own: FlowSummary | undefined, learning: SourceLearning): SourceRule {
  const from: SourceOrigin[] = ['user', 'argument', 'identifier', { generated: ['name', 'phrase', 'prose'] }]
  return {
    path,
    from: own === undefined ? from : [...from, ...takenPlaces(own, from, learning)],
    ...judgedBeside(learning),
    otherwise: learning.otherwise,
  }
}

/** Worded by the model: its name says so, or in two requests the value was seen nowhere before. */
function isFree(
  path: string,
  flow: FlowSummary | undefined,
  named: FlowSummary | undefined,
  { requests }: Pick<SourceLearning, 'requests'>,
): boolean {
  if (isWritten(path)) return true
  return [flow, named].some((known) => known !== undefined && requests.count(known.invented) >= SUPPORT.requests)
}

/** Places in free text that dates, numbers and quotes were taken from in two requests. */
function takenPlaces(
  flow: FlowSummary,
  listed: readonly SourceOrigin[],
  { requests: groups }: Pick<SourceLearning, 'requests'>,
): SourceOrigin[] {
  const known = new Set(listed.map((origin) => JSON.stringify(origin)))
  const places = new Map<string, SourceOrigin>()
  for (const [key, { requests }] of [...flow.dictated.entries, ...flow.quoted.entries]) {
    if (groups.count(requests) < SUPPORT.requests) continue
    const [seen, result, path] = JSON.parse(key) as Place
    const origin = { result, path, as: seen as 'cell' | 'key' | 'line' | 'prose' }
    const text = JSON.stringify(origin)
    if (!known.has(text)) places.set(text, origin)
  }
  return [...places].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, origin]) => origin)
}

/** Dates, amounts and flags identify nothing; an argument that is nearly always one is left to the other rules. */
function isMeasure(flow: FlowSummary, numbers: boolean): boolean {
  let measures: Sketch = []
  for (const [key, { sessions }] of flow.origins.entries) {
    if (isUnjudged(readOriginKey(key).kind, { numbers })) measures = mergeSketches(measures, sessions)
  }
  const sessions = countOf(flow.sessions)
  return sessions >= SUPPORT.role && countOf(measures) >= SUPPORT.measureShare * sessions
}

/** Content is what the model writes itself in at least half of the sessions. Undefined if there are too few. */
function roleOf(flow: FlowSummary | undefined): 'content' | 'reference' | undefined {
  if (flow === undefined || countOf(flow.sessions) < SUPPORT.role) return undefined
  return countOf(flow.composed) * 2 >= countOf(flow.sessions) ? 'content' : 'reference'
}

/**
 * Values that the user or a trusted cell gave often enough for an argument of this name: in two different requests, or
 * in two sessions for a tool that only reads from outside.
 */
function knownValues(flow: FlowSummary, effect: SideEffect, context: SourceLearning): string[] {
  const known: string[] = []
  for (const [hash, places] of flow.known.entries) {
    let witnesses: Sketch = []
    for (const [key, { sessions, requests }] of places.entries) {
      const { kind, places: at } = readOriginKey(key)
      if (!at.every((place) => vouches(place, kind, context))) continue
      witnesses = mergeSketches(witnesses, effect === 'egress_read' ? sessions : requests)
    }
    if (context.requests.count(witnesses) >= SUPPORT.requests) known.push(hash)
  }
  return known.sort()
}

/**
 * Recurring origins that nothing better explains: places in free text that this argument used, and values the model
 * makes up, if an argument of this name is usually made up.
 */
function habits(
  role: SourceRule['role'],
  own: FlowSummary | undefined,
  named: FlowSummary | undefined,
  context: SourceLearning,
): SourceOrigin[] {
  const originsOf = (flow: FlowSummary) => (role === 'content' ? flow.tokenOrigins : flow.origins)
  const kinds = named === undefined ? [] : generatedKinds(originsOf(named))
  const places = own === undefined ? [] : placesOf(creditedPlaces(originsOf(own), context), own, context)
  return [...(kinds.length > 0 ? [{ generated: kinds }] : []), ...places]
}

function generatedKinds(origins: Sample<Witnesses>): ValueKind[] {
  const all = origins.entries.map(([key, witnesses]) => ({ ...readOriginKey(key), witnesses }))
  return (
    all
      .filter(({ places, witnesses }) => places.length === 0 && countOf(witnesses.sessions) >= SUPPORT.sessions)
      .map(({ kind }) => kind)
      // A text that gets the model to make up an address would choose it.
      .filter((kind) => !isActionable(kind))
      .sort()
  )
}

/** Sessions that make a habit of something an outsider could exploit. */
const habitual = (flow: FlowSummary): number =>
  Math.max(SUPPORT.sessions, Math.ceil(SUPPORT.openShare * countOf(flow.sessions)))

/** Credit goes to the first place where a value was seen, and only if nothing trusted explains it. */
function creditedPlaces(origins: Sample<Witnesses>, context: SourceContext): { place: Place; witnesses: Witnesses }[] {
  const credited = new Map<string, { place: Place; witnesses: Witnesses }>()
  for (const [key, witnesses] of origins.entries) {
    const { kind, places } = readOriginKey(key)
    if (places.some((place) => vouches(place, kind, context))) continue
    const first = places.find(([seen]) => seen !== 'argument')
    if (first === undefined) continue
    const at = JSON.stringify(first)
    const other = credited.get(at)?.witnesses
    credited.set(at, { place: first, witnesses: other === undefined ? witnesses : mergeWitnesses(other, witnesses) })
  }
  return [...credited.values()]
}

function placesOf(
  credited: readonly { place: Place; witnesses: Witnesses }[],
  flow: FlowSummary,
  { requests }: Pick<SourceLearning, 'requests'>,
): SourceOrigin[] {
  return credited
    .filter(
      ({ witnesses }) =>
        countOf(witnesses.sessions) >= habitual(flow) && requests.count(witnesses.requests) >= SUPPORT.requests,
    )
    .map(({ place: [seen, result, path] }) => ({ result, path, as: seen as 'cell' | 'key' | 'line' | 'prose' }))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

/** Trusted without being a habit: the user, a judged argument, an identifier cell. */
export function vouches([seen, tool, path]: Place, kind: ValueKind, context: SourceContext): boolean {
  if (seen === 'user') return true
  if (seen === 'argument') return context.isGuarded(tool, path)
  return isIdentifierCell({ seen, tool, path }, kind, context)
}

export const describePlace = ([seen, tool, path]: Place): string => `${seen} ${path} of ${tool}`

/** What each column of a tool's results contained. */
export function learnedColumns(summary: ToolSummary): ResultColumn[] {
  const columns = summary.columns.entries.map(([key, { kinds, longest }]) => {
    const place = key.startsWith('key ') ? ('key' as const) : ('cell' as const)
    return { path: key.slice(place.length + 1), place, kinds, longest }
  })
  const tables = columns.filter(({ path }) => path !== '$').map(({ kinds }) => mostSessions(Object.values(kinds)))
  return columns
    .map(({ path, place, kinds, longest }): ResultColumn => {
      const holds = (Object.keys(kinds) as ValueKind[]).sort()
      const remark = path === '$' && mostSessions([kinds.prose ?? []]) <= SUPPORT.remarkShare * Math.max(0, ...tables)
      const held = remark ? holds.filter((kind) => kind !== 'prose') : holds
      return { path, place, holds: held, ...(longest !== undefined && { longest }) }
    })
    .sort((a, b) => (a.path + a.place < b.path + b.place ? -1 : 1))
}

const mostSessions = (sketches: readonly Sketch[]): number =>
  Math.max(0, ...sketches.map((sketch) => countOf(sketch, SUMMARY_LIMITS.columnSessions)))

export const isGuardedEffect = (effect: SideEffect | undefined): boolean => effect !== undefined && effect !== 'read'
