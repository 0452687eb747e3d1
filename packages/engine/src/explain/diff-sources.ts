import type { SourceOrigin, SourceRule } from '@countersign/protocol'
import { describeOrigin } from '../contract/source-rule.js'
import type { PlanChange, Say } from './plan-change.js'
import { same } from './rule-strength.js'

/** Where the values of arguments may come from, path by path. */
export function diffSources(was: readonly SourceRule[], is: readonly SourceRule[], say: Say): PlanChange[] {
  const old = new Map(was.map((item) => [item.path, item]))
  const next = new Map(is.map((item) => [item.path, item]))
  return [...new Set([...old.keys(), ...next.keys()])].sort().flatMap((path) => {
    // An argument without a rule of its own is judged by one that covers it: a new rule may allow more than that.
    const [before, after] = [old.get(path) ?? covering(was, path), next.get(path) ?? covering(is, path)]
    if (before === undefined) return [say('blocks', `${path} must come from ${originsOf(after)}`)]
    if (after === undefined) return [say('allows', `${path} may come from anywhere`)]
    return diffSource(before, { ...after, path }, say)
  })
}

/** The most specific rule for what lies above a path. */
function covering(rules: readonly SourceRule[], path: string): SourceRule | undefined {
  const above = rules.filter((rule) => path.startsWith(rule.path) && /^$|^[.[]/.test(path.slice(rule.path.length)))
  return above.reduce<SourceRule | undefined>(
    (closest, rule) => (closest === undefined || rule.path.length > closest.path.length ? rule : closest),
    undefined,
  )
}

function diffSource(before: SourceRule, after: SourceRule, say: Say): PlanChange[] {
  const { path } = after
  const missing = (from: readonly SourceOrigin[], among: readonly SourceOrigin[]) =>
    from.filter((origin) => !among.some((other) => same(origin, other)))
  const changes = [
    ...missing(after.from, before.from).map((origin) =>
      say('allows', `${path} may come from ${describeOrigin(origin)}`),
    ),
    ...missing(before.from, after.from).map((origin) =>
      say('blocks', `${path} may not come from ${describeOrigin(origin)}`),
    ),
  ]
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
  const [had, has] = [new Set(before.known?.hashes), new Set(after.known?.hashes)]
  const added = [...has].filter((hash) => !had.has(hash)).length
  const gone = [...had].filter((hash) => !has.has(hash)).length
  if (added > 0) changes.push(say('allows', `${added} more known values of ${path}`))
  if (gone > 0) changes.push(say('blocks', `${gone} known values of ${path} are removed`))
  return changes
}

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
