import type {
  CallFlow,
  JsonObject,
  JsonValue,
  LeafFlow,
  Otherwise,
  SourceOrigin,
  SourceRule,
  ValueKind,
  ValueSource,
} from '@countersign/protocol'
import { FLOW_LIMITS } from '@countersign/protocol'
import { countCovered, coversKey, coversLocation } from '../../contract/source-path.js'
import {
  describeOrigin,
  describeSource,
  isActionable,
  isIdentifierCell,
  isProseCell,
  isUnjudged,
  knownHash,
  type PreparedSource,
  type SourceContext,
} from '../../contract/source-rule.js'
import { type Leaf, leavesOf } from '../../json/leaves.js'
import { comparable, isQuotable, isWorded, kindOf, tokensOf } from '../../json/value-kind.js'

/** An argument whose value comes from a place that the contract does not allow. */
export interface SourceViolation {
  readonly rule: SourceRule
  /** Generalised path of the argument. */
  readonly path: string
  readonly kind: ValueKind
  /** Where the value was seen, earliest first; empty if nowhere. */
  readonly seen: readonly ValueSource[]
  readonly otherwise: Otherwise
  readonly remedy: string
}

/**
 * The arguments whose value comes from a place that the contract does not allow. A call without a flow proves nothing,
 * nor does a flow about values that are too many or too deep to report.
 */
export function judgeSources(
  sources: readonly PreparedSource[],
  call: { readonly arguments: JsonObject; readonly flow: CallFlow | null },
  context: SourceContext,
): SourceViolation[] {
  if (sources.length === 0) return []
  const { leaves, cut } = leavesOf(call.arguments)
  const violations: SourceViolation[] = []
  leaves.forEach((leaf, index) => {
    const source = ruleFor(leaf, sources)
    if (source === undefined || source.isIdle === true) return
    const { rule } = source
    if (rule.role === 'choice') return
    if (typeof leaf.value === 'number' && rule.numbers !== true && rule.dictated === undefined) return
    const flow = flowOfLeaf(leaf, call.flow?.leaves[index])
    const incomplete = call.flow?.incomplete === true
    for (const part of partsToJudge(rule, leaf.value, flow)) {
      const found = isUnjudged(part.kind, rule)
        ? judgeMeasure(rule, leaf, part, context)
        : judgePart(source, leaf, part, incomplete, context)
      if (found !== null) violations.push(found)
    }
    const quote = rule.quoted === undefined ? null : judgeQuote(rule, rule.quoted, leaf, flow, context)
    if (quote !== null && !violations.some(({ path }) => path === leaf.path)) violations.push(quote)
  })
  return cut ? [...violations, ...unreported(sources, call.arguments, leaves)] : violations
}

/** What the client says of a value; null if it speaks of another one. Older clients know no phrases. */
function flowOfLeaf(leaf: Leaf, claimed: LeafFlow | undefined): LeafFlow | null {
  if (claimed === undefined || claimed.path !== leaf.path) return null
  const kind = kindOf(leaf.value)
  return claimed.kind === kind || (isWorded(kind) && isWorded(claimed.kind)) ? claimed : null
}

function judgePart(
  source: PreparedSource,
  leaf: Leaf,
  part: Part,
  incomplete: boolean,
  context: SourceContext,
): SourceViolation | null {
  const { rule } = source
  if (part.reported && isAllowed(source, part, incomplete, context)) return null
  const isInvented = part.reported && part.sources.length === 0 && !incomplete && isActionable(part.kind)
  return violationOf(rule, leaf.path, part, isInvented ? (rule.invented ?? rule.otherwise) : rule.otherwise)
}

/** A date or a number that nothing but free text names. One that was seen nowhere was computed. */
function judgeMeasure(rule: SourceRule, leaf: Leaf, part: Part, context: SourceContext): SourceViolation | null {
  if (rule.dictated === undefined || (part.kind !== 'date' && part.kind !== 'number')) return null
  const texts = textsOf(part.kind, part.sources, context)
  if (texts.length === 0 || isExplained(rule, part, context)) return null
  if (part.kind === 'number' && part.text.replaceAll(/\D/g, '').length < 2) return null
  const where = texts.slice(0, 3).map(describeSource).join(', ')
  const remedy = `${leaf.path} holds a ${part.kind} that only free text names: ${where}; take it from what the user wrote or from a field of its own`
  return { rule, path: leaf.path, kind: part.kind, seen: part.sources, otherwise: rule.dictated, remedy }
}

/** Text that stands as it is inside the free text of a result. */
function judgeQuote(
  rule: SourceRule,
  otherwise: Otherwise,
  leaf: Leaf,
  flow: LeafFlow | null,
  context: SourceContext,
): SourceViolation | null {
  const sources = flow?.sources ?? []
  if (sources.length === 0 || !isQuotable(leaf.value)) return null
  const kind = kindOf(leaf.value)
  const texts = textsOf(kind, sources, context)
  if (texts.length === 0 || isExplained(rule, { kind, sources }, context)) return null
  const where = texts.slice(0, 3).map(describeSource).join(', ')
  const remedy = `${leaf.path} repeats word for word what stands in ${where}; word it yourself, or ask the user`
  return { rule, path: leaf.path, kind, seen: sources, otherwise, remedy }
}

/**
 * Inside free text; or all that a cell holds where sentences stand otherwise, so that its author chose the
 * value. A whole sentence is a document that is passed on.
 */
const isText = (kind: ValueKind, source: ValueSource, context: SourceContext): boolean =>
  source.seen === 'line' || source.seen === 'prose' || (kind !== 'prose' && isProseCell(source, context))

const textsOf = (kind: ValueKind, sources: readonly ValueSource[], context: SourceContext): ValueSource[] =>
  sources.filter((source) => isText(kind, source, context))

/** The user, a field of a result, an argument that was judged, or a place that the rule lists. */
function isExplained({ from }: SourceRule, part: Pick<Part, 'kind' | 'sources'>, context: SourceContext): boolean {
  return part.sources.some((source) => {
    if (source.seen === 'argument') return context.isGuarded(source.tool, source.path)
    if (!isText(part.kind, source, context)) return true
    return from.some((origin) => typeof origin === 'object' && 'result' in origin && comesFrom(source, origin))
  })
}

/** The rule that names the value, otherwise the most specific one that covers it. */
function ruleFor(leaf: Leaf, sources: readonly PreparedSource[]): PreparedSource | undefined {
  let closest: PreparedSource | undefined
  for (const source of sources) {
    const isNamed = source.rule.path === leaf.path
    if (isNamed && source.isIdle !== true) return source
    if (!isNamed && (closest?.rule.path === leaf.path || !covers(source, leaf))) continue
    if (closest === undefined || isNamed || isBetter(source, closest)) closest = source
  }
  return closest
}

/** More specific, or as specific and judging. */
const isBetter = (source: PreparedSource, closest: PreparedSource): boolean =>
  source.steps.length > closest.steps.length || (closest.isIdle === true && source.rule.path === closest.rule.path)

const covers = ({ steps }: PreparedSource, { location, isKey }: Leaf): boolean =>
  isKey === true ? coversKey(steps, location) : coversLocation(steps, location)

/** Rules on values that no flow can report because they are too many or too deep. */
function unreported(sources: readonly PreparedSource[], args: JsonObject, leaves: readonly Leaf[]): SourceViolation[] {
  return sources.flatMap((source) => {
    const { rule, steps } = source
    if (rule.role === 'choice' || source.isIdle === true) return []
    const isJudged = (value: JsonValue) => typeof value === 'string' || (typeof value === 'number' && !!rule.numbers)
    const seen = leaves.filter((leaf) => isJudged(leaf.value) && covers(source, leaf)).length
    if (countCovered(args, steps, isJudged) <= seen) return []
    const part: Part = { text: '', kind: 'prose', sources: [], reported: false }
    return [violationOf(rule, rule.path, part, rule.otherwise)]
  })
}

interface Part {
  readonly text: string
  readonly kind: ValueKind
  readonly sources: readonly ValueSource[]
  /** False if the client did not report where the value was seen. */
  readonly reported: boolean
}

/** A reference is judged as a whole; of content, only the addresses and identifiers inside it. */
function partsToJudge(rule: SourceRule, value: string | number, flow: LeafFlow | null): Part[] {
  const kind = kindOf(value)
  const whole = { text: comparable(value, kind), kind, sources: flow?.sources ?? [], reported: flow !== null }
  const role = rule.role ?? (isWorded(kind) ? 'content' : 'reference')
  if (role === 'reference' || typeof value === 'number') return [whole]
  if (isUnjudged(kind, rule)) return [whole]
  if (!/\s/.test(value)) return isActionable(kind) ? [whole] : []
  // One more than a flow can report: it stands for all that follow.
  return tokensOf(value, FLOW_LIMITS.tokensPerLeaf + 1).map((token, index) => {
    const sources = flow?.tokens?.[index]?.sources
    return { ...token, sources: sources ?? [], reported: sources !== undefined }
  })
}

function isAllowed(source: PreparedSource, part: Part, incomplete: boolean, context: SourceContext): boolean {
  return source.rule.from.some((origin) => allows(origin, source, part, incomplete, context))
}

function allows(
  origin: SourceOrigin,
  { rule, known }: PreparedSource,
  part: Part,
  incomplete: boolean,
  context: SourceContext,
): boolean {
  if (origin === 'user') return part.sources.some(({ seen }) => seen === 'user')
  if (origin === 'argument')
    return part.sources.some((source) => source.seen === 'argument' && context.isGuarded(source.tool, source.path))
  if (origin === 'identifier') return part.sources.some((source) => isIdentifierCell(source, part.kind, context))
  if (origin === 'known') return rule.known !== undefined && known.has(knownHash(rule.known.salt, rule.path, part.text))
  if (origin === 'generated') return part.sources.length === 0 && !incomplete
  if ('generated' in origin) return part.sources.length === 0 && !incomplete && origin.generated.includes(part.kind)
  return part.sources.some((source) => comesFrom(source, origin))
}

function comesFrom(source: ValueSource, origin: { result: string; path: string; as?: string | undefined }): boolean {
  if (source.seen === 'user' || source.seen === 'argument') return false
  if (source.tool !== origin.result || source.path !== origin.path) return false
  return source.seen === (origin.as ?? 'cell') || (origin.as === 'prose' && source.seen === 'line')
}

/** More than anybody reads. */
const ORIGINS_NAMED = 8

function violationOf(rule: SourceRule, path: string, part: Part, otherwise: Otherwise): SourceViolation {
  const where = !part.reported
    ? 'the client did not say where it was seen'
    : part.sources.length === 0
      ? 'it was seen nowhere before'
      : `it was seen in ${part.sources.slice(0, 3).map(describeSource).join(', ')}`
  const named = rule.from.slice(0, ORIGINS_NAMED).map(describeOrigin).join(', or ')
  const others = rule.from.length > ORIGINS_NAMED ? `, or one of ${rule.from.length - ORIGINS_NAMED} other places` : ''
  const remedy = `take ${path} from ${named}${others}; ${where}`
  return { rule, path, kind: part.kind, seen: part.sources, otherwise, remedy }
}
