import type { ResultColumn, SourceOrigin, SourceRule, ValueKind, ValueSource } from '@countersign/protocol'
import { saltedHash } from '../json/hash.js'
import { coversSteps, type SourceStep, sourceSteps } from './source-path.js'
import type { Conditional } from './when/condition.js'

/** A rule about where the values of an argument may come from, with its path parsed. */
export interface PreparedSource extends Conditional {
  readonly rule: SourceRule
  readonly steps: readonly SourceStep[]
  /** The hashes of `known`, where one can be looked up among thousands. */
  readonly known: ReadonlySet<string>
  /** Its conditions fail for this call: it judges nothing, and keeps its values from less specific rules. */
  readonly isIdle?: boolean
}

/** What source rules need to know about the other tools of the plan. */
export interface SourceContext {
  /** Null for a tool without described results. */
  columnsOf(tool: string): readonly ResultColumn[] | null
  /** True for an argument that has a source rule itself, so that it can vouch for later ones; by its general path. */
  isGuarded(tool: string, path: string): boolean
}

/**
 * Whether what stood in an argument was judged: by the rule that names it, otherwise by the most specific one. One with
 * conditions may not have applied.
 */
export function isGuardedBy(sources: readonly PreparedSource[], path: string): boolean {
  const location = sourceSteps(path)
  let closest: PreparedSource | undefined
  for (const source of sources) {
    if (source.rule.path === path) return vouches(source)
    if (!coversSteps(source.steps, location)) continue
    if (closest === undefined || source.steps.length > closest.steps.length) closest = source
  }
  return closest !== undefined && vouches(closest)
}

const vouches = ({ rule, when }: PreparedSource): boolean => rule.role !== 'choice' && when.length === 0

const UNJUDGED_KINDS: ReadonlySet<ValueKind> = new Set(['empty', 'boolean', 'number', 'date'])

/** Other rules bound amounts, dates and flags; a number counts only if the rule says that it names something. */
export const isUnjudged = (kind: ValueKind, { numbers }: { numbers?: boolean | undefined }): boolean =>
  UNJUDGED_KINDS.has(kind) && !(kind === 'number' && numbers === true)

/**
 * A whole cell of a column that never contained prose and contains this kind of value. A tool that ever answered with
 * free text vouches for no cell: the author of that text could have written it as a table.
 */
export function isIdentifierCell(source: ValueSource, kind: ValueKind, context: SourceContext): boolean {
  if (source.seen !== 'cell' && source.seen !== 'key') return false
  const holds = heldWith(source, context)
  if (holds === null || holds.includes('prose')) return false
  return holds.includes(kind) || (KINDRED[kind] ?? []).some((other) => holds.includes(other))
}

/** A whole cell of a column that also held prose, or of a tool that ever answered with it. */
export function isProseCell(source: ValueSource, context: SourceContext): boolean {
  if (source.seen !== 'cell' && source.seen !== 'key') return false
  const holds = heldWith(source, context)
  return holds === null || holds.includes('prose')
}

/** What the column of a cell was seen to hold; null for a tool that ever answered with free text. */
function heldWith(
  source: Exclude<ValueSource, { seen: 'user' } | { seen: 'argument' }>,
  context: SourceContext,
): readonly ValueKind[] | null {
  const columns = context.columnsOf(source.tool)
  if (columns?.some(({ path, holds }) => path === '$' && holds.includes('prose'))) return null
  const described = columns?.find(({ path, place }) => path === source.path && place === source.seen)
  return described?.holds ?? source.holds ?? []
}

/** Kinds of value that one column may mix: a title is a name or a phrase, and an id may be a number. */
const KINDRED: Partial<Record<ValueKind, readonly ValueKind[]>> = {
  id: ['number'],
  number: ['id'],
  name: ['phrase'],
  phrase: ['name'],
}

/** True if some violation of the rule asks a person. */
export const asksBySource = ({ otherwise, dictated, quoted, invented }: SourceRule): boolean =>
  otherwise === 'ask' || dictated === 'ask' || quoted === 'ask' || invented === 'ask'

const ACTIONABLE: ReadonlySet<ValueKind> = new Set(['email', 'url', 'id'])

/** Addresses and identifiers: what a reader could act on, also in the middle of other words. */
export const isActionable = (kind: ValueKind): boolean => ACTIONABLE.has(kind)

/** Hash of an argument's name and value: a known recipient is known to every tool with an argument of that name. */
export function knownHash(salt: string, path: string, value: string): string {
  return saltedHash(salt, [argumentName(path).toWellFormed(), value.toWellFormed()])
}

/** The last name in a generalised path: `recipient` of `$.message.recipient[*]`. */
export const argumentName = (path: string): string =>
  [...path.matchAll(/\.([A-Za-z_]\w*)|\['([^']*)'\]/g)].map(([, plain, quoted]) => plain ?? quoted).at(-1) ?? path

export function describeSource(source: ValueSource): string {
  if (source.seen === 'user') return "the user's words"
  if (source.seen === 'argument') return `argument ${source.path} of ${source.tool}`
  const place = { cell: '', key: 'a key of ', line: 'a line of ', prose: 'the middle of the text at ' }[source.seen]
  return `${place}${source.path} of the result of ${source.tool}`
}

export function describeOrigin(origin: SourceOrigin): string {
  if (typeof origin === 'string') return ORIGIN_WORDS[origin]
  if ('generated' in origin) return `the model itself (${origin.generated.join(', ')})`
  return describeSource({ seen: origin.as ?? 'cell', tool: origin.result, path: origin.path })
}

const ORIGIN_WORDS = {
  user: 'what the user wrote',
  argument: 'an earlier allowed call',
  identifier: 'a whole field of a result that holds identifiers',
  known: 'the values known from earlier sessions',
  generated: 'the model itself',
} as const satisfies Record<Exclude<SourceOrigin, object>, string>
