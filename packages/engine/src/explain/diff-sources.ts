import type { SourceOrigin, SourceRule } from '@countersign/protocol'
import { describeOrigin } from '../contract/source-rule.js'
import { appliesWherever } from './compare-when.js'
import type { Comparison } from './comparison.js'
import { underConditions } from './condition-words.js'
import type { PlanChange, Say } from './plan-change.js'

/** Where the values of arguments may come from, path by path. */
export function diffSources(
  was: readonly SourceRule[],
  is: readonly SourceRule[],
  say: Say,
  comparison: Comparison,
): PlanChange[] {
  const old = new Map(was.map((item) => [item.path, item]))
  const next = new Map(is.map((item) => [item.path, item]))
  const paths = [...new Set([...old.keys(), ...next.keys()])].sort()
  const [coveredBefore, coveredAfter] = [covering(was, paths), covering(is, paths)]
  return paths.flatMap((path) => {
    // An argument without a rule of its own is judged by one that covers it: a new rule may allow more than that.
    const [before, after] = [old.get(path) ?? coveredBefore.get(path), next.get(path) ?? coveredAfter.get(path)]
    if (before === undefined) return [say('blocks', `${path} must come from ${originsOf(after)}`)]
    if (after === undefined) return [say('allows', `${path} may come from anywhere`)]
    return diffSource(before, { ...after, path }, say, comparison)
  })
}

/**
 * For each path, the most specific rule for what lies above it. The paths are sorted and include those of the rules:
 * whatever begins like a path follows it directly, so the rules that a path begins with are those last seen.
 */
export function covering(rules: readonly SourceRule[], paths: readonly string[]): Map<string, SourceRule> {
  const firstOf = new Map<string, SourceRule>()
  for (const rule of rules) if (!firstOf.has(rule.path)) firstOf.set(rule.path, rule)
  const covered = new Map<string, SourceRule>()
  const above: SourceRule[] = []
  for (const path of paths) {
    for (let last = above.at(-1); last !== undefined && !path.startsWith(last.path); last = above.at(-1)) above.pop()
    const closest = above.findLast((rule) => /[.[]/.test(path.charAt(rule.path.length)))
    if (closest !== undefined) covered.set(path, closest)
    const own = firstOf.get(path)
    if (own !== undefined) above.push(own)
  }
  return covered
}

/** More sources of one argument that come or go are counted: one rule may cover thousands of arguments. */
const MOST_SOURCES = 20

function diffSource(before: SourceRule, after: SourceRule, say: Say, comparison: Comparison): PlanChange[] {
  const { path } = after
  const tell = (
    from: readonly SourceOrigin[],
    among: readonly SourceOrigin[],
    say: (origins: string) => PlanChange,
  ) => {
    const count = comparison.countMissing(from, among)
    if (count > MOST_SOURCES) return [say(`${count} sources that are not listed here`)]
    return comparison.missing([...comparison.itemsOf(from).values()], among).map((item) => say(describeOrigin(item)))
  }
  const changes = [
    ...tell(after.from, before.from, (origins) => say('allows', `${path} may come from ${origins}`)),
    ...tell(before.from, after.from, (origins) => say('blocks', `${path} may not come from ${origins}`)),
  ]
  if (!comparison.same(before.when, after.when)) {
    const [isWide, wasWide] = [
      appliesWherever(after.when, before.when, comparison),
      appliesWherever(before.when, after.when, comparison),
    ]
    const applies = after.when === undefined ? 'always applies' : underConditions(after.when, 'applies')
    changes.push(say(isWide ? 'blocks' : wasWide ? 'allows' : 'changes', `the source rule of ${path}: ${applies}`))
  }
  if (before.message !== after.message) changes.push(say('changes', `what the model is told of ${path} changes`))
  if (before.otherwise !== after.otherwise) {
    const effect = STRENGTH[after.otherwise] > STRENGTH[before.otherwise] ? 'blocks' : 'allows'
    changes.push(say(effect, `any other source of ${path} ${OUTCOMES[after.otherwise]}`))
  }
  for (const [word, what] of BESIDE) {
    if (before[word] === after[word]) continue
    const effect = STRENGTH[after[word] ?? 'none'] > STRENGTH[before[word] ?? 'none'] ? 'blocks' : 'allows'
    changes.push(say(effect, `${what} in ${path} ${OUTCOMES[after[word] ?? 'none']}`))
  }
  if (before.role !== after.role) {
    const effect = JUDGED[after.role ?? 'shape'] > JUDGED[before.role ?? 'shape'] ? 'blocks' : 'allows'
    changes.push(say(effect, `${path} is judged ${after.role === undefined ? 'by its shape' : `as ${after.role}`}`))
  }
  if (before.numbers !== after.numbers) {
    const effect = after.numbers === true ? 'blocks' : 'allows'
    changes.push(
      say(effect, `numbers in ${path} are ${after.numbers === true ? 'now' : 'no longer'} judged by their source`),
    )
  }
  const [had, has] = [before.known?.hashes ?? NONE, after.known?.hashes ?? NONE]
  const [added, gone] = [comparison.countMissing(has, had), comparison.countMissing(had, has)]
  if (added > 0) changes.push(say('allows', `${added} more known values of ${path}`))
  if (gone > 0) changes.push(say('blocks', `${gone} known values of ${path} are removed`))
  return changes
}

const NONE: readonly string[] = []

/** How much of a value is judged: nothing, what it mentions, free text only by that, all of it. */
const JUDGED = { choice: 0, content: 1, shape: 2, reference: 3 } as const
const BESIDE = [
  ['dictated', 'a date or number that only free text names'],
  ['quoted', 'text that repeats free text of a result'],
  ['invented', 'an address or id that was seen nowhere'],
] as const
const STRENGTH = { none: 0, note: 1, ask: 2, block: 3 } as const
const OUTCOMES = {
  none: 'is not judged for itself',
  note: 'is only noted',
  ask: 'asks a person',
  block: 'blocks',
} as const

const originsOf = (rule: SourceRule | undefined): string => (rule?.from ?? []).map(describeOrigin).join(', or ')
