import type { Plan } from '@countersign/engine'

/** At most this often a schema is looked through for each value, its references followed. */
const MOST_COST = 10_000

/** Keys whose rules may take more than a look at each byte. */
const NOT_PLAIN = new Set([
  ...['policy', 'contains', 'uniqueItems', 'patternProperties', 'unevaluatedItems', 'unevaluatedProperties'],
  ...['$dynamicRef', '$recursiveRef'],
])
/** Keys whose members are free names. */
const NAMED = new Set(['properties', '$defs', 'definitions', 'max_calls_per_tool', 'pricing', 'transitions'])
/** A path with one value, or the items of one list. Unions, slices, filters and descents visit values again and again. */
const PLAIN_PATH = /^\$(\.[A-Za-z_][\w-]*|\['[^'\\]*'\]|\[\d+\])*(\[\*\](\.[A-Za-z_][\w-]*)*)?$/
/** Each item is a value of its own, with what is kept of it. */
const COST_OF_ITEMS = 8
const SCHEMAS = new Set(['arguments', 'schema'])

const costs = new WeakMap<Plan, number>()

/**
 * About how often judging by a plan looks at each byte of a call. Infinity where that is not bounded by its rules: they
 * have policies, filters, or schemas that compare every value with every other.
 */
export function planCost(plan: Plan): number {
  const known = costs.get(plan)
  if (known !== undefined) return known
  let most = 0
  let ofAll = costOf(plan.session)
  for (const { definition } of plan.contracts.values()) {
    most = Math.max(most, costOf(definition))
    // Before a request, those of all contracts are judged.
    ofAll += costOf(definition.assertions?.input_invariants ?? [])
  }
  const cost = most + ofAll
  costs.set(plan, cost)
  return cost
}

function costOf(definition: unknown): number {
  const costOfReference = new Map<string, number>()
  /** The schema that references start from. */
  let root: unknown = null

  const walk = (value: unknown, key: string): number => {
    if (typeof value === 'string') return costOfText(value, key)
    if (typeof value !== 'object' || value === null) return 1
    if (root !== null || Array.isArray(value) || !SCHEMAS.has(key)) return sum(value, key)
    root = value
    costOfReference.clear()
    const cost = sum(value, key)
    root = null
    return cost
  }

  const sum = (value: object, key: string): number => {
    const areNames = NAMED.has(key)
    let cost = 1
    for (const [name, part] of Object.entries(value)) {
      if (!areNames && (NOT_PLAIN.has(name) || (name === '$id' && value !== root))) return Infinity
      if (!areNames && name === 'multipleOf' && !/^\d+(\.\d{1,6})?$/.test(String(part))) return Infinity
      if (!areNames && name === '$ref' && typeof part === 'string') cost += followed(part)
      else cost += walk(part, Array.isArray(value) ? key : areNames ? '' : name)
      if (cost > MOST_COST) return Infinity
    }
    return cost
  }

  const followed = (reference: string): number => {
    const known = costOfReference.get(reference)
    if (known !== undefined) return known
    // One that leads back to itself costs as often as the values are deep.
    costOfReference.set(reference, Infinity)
    const target = /^#\/[^%~]*$/.test(reference) ? memberAt(root, reference) : undefined
    const cost = target === undefined ? Infinity : walk(target, '')
    costOfReference.set(reference, cost)
    return cost
  }

  return walk(definition, '')
}

const memberAt = (root: unknown, reference: string): unknown =>
  reference
    .slice(2)
    .split('/')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], root)

/** What people write for people, or for a model. */
const PROSE = new Set(['message', 'reason', 'description'])

function costOfText(text: string, key: string): number {
  if (PROSE.has(key)) return 1
  if (text.startsWith('$')) return PLAIN_PATH.test(text) ? (text.includes('[*]') ? COST_OF_ITEMS : 1) : Infinity
  if (key !== 'pattern' && key !== 'regex' && key !== 'not_regex') return 1
  const repeated = [...text.matchAll(/\{(\d+)(?:,(\d+))?/g)].map(([, least, most = least]) => Math.max(1, Number(most)))
  const size = text.length * repeated.reduce((product, times) => product * times, 1)
  return size > MOST_COST ? Infinity : 1 + size
}
