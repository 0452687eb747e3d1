import type { Plan } from '@countersign/engine'

/** At most this often a schema is looked through for each value, its references followed. */
const MOST_COST = 10_000

/** Keys whose rules may take more than a look at each byte. */
const NOT_PLAIN = new Set([
  ...['policy', 'contains', 'uniqueItems', 'patternProperties', 'unevaluatedItems', 'unevaluatedProperties'],
  ...['$dynamicRef', '$recursiveRef'],
])
/** Keys whose members are names that somebody chose. */
const NAMED = new Set(['properties', '$defs', 'definitions', 'max_calls_per_tool', 'pricing', 'transitions'])
const PATHS = new Set(['path', 'as', 'key'])

const costs = new WeakMap<Plan, number>()

/**
 * About how often judging by a plan looks at each byte of a call. Infinity where that is not bounded by its rules: they
 * have policies, filters, or schemas that compare every value with every other.
 */
export function planCost(plan: Plan): number {
  const known = costs.get(plan)
  if (known !== undefined) return known
  let most = 0
  for (const { definition } of plan.contracts.values()) most = Math.max(most, costOf(definition))
  const cost = most + costOf(plan.session)
  costs.set(plan, cost)
  return cost
}

function costOf(definition: unknown): number {
  const costOfReference = new Map<string, number>()
  /** The schema that a reference starts from. */
  let root: unknown = null

  const walk = (value: unknown, key: string): number => {
    if (typeof value === 'string') return costOfText(value, key)
    if (typeof value !== 'object' || value === null) return 1
    if (key === 'arguments' || key === 'schema') root = value
    let cost = 1
    for (const [name, part] of Object.entries(value)) {
      if (!NAMED.has(key) && NOT_PLAIN.has(name)) return Infinity
      cost +=
        name === '$ref' && typeof part === 'string' ? followed(part) : walk(part, Array.isArray(value) ? key : name)
      if (cost > MOST_COST) return Infinity
    }
    return cost
  }

  const followed = (reference: string): number => {
    const known = costOfReference.get(reference)
    if (known !== undefined) return known
    // One that leads back to itself costs as often as the values are deep.
    costOfReference.set(reference, Infinity)
    const cost = reference.startsWith('#/') ? walk(at(root, reference), '') : Infinity
    costOfReference.set(reference, cost)
    return cost
  }

  return walk(definition, '')
}

const at = (root: unknown, reference: string): unknown =>
  reference
    .slice(2)
    .split('/')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], root)

function costOfText(text: string, key: string): number {
  if (PATHS.has(key)) return /\.\.|\?|\*.*\*/.test(text) ? Infinity : 1
  if (key !== 'pattern' && key !== 'regex' && key !== 'not_regex') return 1
  const repeated = [...text.matchAll(/\{(\d+)(?:,(\d+))?/g)].map(([, least, most = least]) => Math.max(1, Number(most)))
  const size = text.length * repeated.reduce((product, times) => product * times, 1)
  return size > MOST_COST ? Infinity : 1 + size / 8
}
