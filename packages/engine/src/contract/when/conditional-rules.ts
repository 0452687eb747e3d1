import type { CompiledContract, CompiledSession, Condition, JsonValue } from '@countersign/protocol'

/** The conditions of one rule, and where they stand in its file. */
export interface ConditionsAt {
  readonly at: readonly (string | number)[]
  readonly when: readonly Condition[]
}

const LISTS = [
  'preconditions',
  'argument_value_invariants',
  'refs',
  'envelopes',
  'aggregates',
  'sources',
  'checkpoint',
  'hours',
] as const

/** The conditions of every rule of a contract that has some. */
export function conditionsOf(contract: CompiledContract): ConditionsAt[] {
  const found = LISTS.flatMap((key) => conditionsUnder(contract[key], [key]))
  const labels = (['deny_when', 'adds'] as const).flatMap((key) =>
    conditionsUnder(contract.labels?.[key], ['labels', key]),
  )
  return [...found, ...labels]
}

/** The conditions of the session's own rules. */
export const conditionsOfSession = ({ hours, shared_limits }: CompiledSession['session']): ConditionsAt[] => [
  ...conditionsUnder(hours, ['hours']),
  ...conditionsUnder(shared_limits, ['shared_limits']),
]

type WrittenRule = string | { readonly when?: readonly Condition[] | undefined }

function conditionsUnder(
  rules: WrittenRule | readonly WrittenRule[] | undefined,
  at: ConditionsAt['at'],
): ConditionsAt[] {
  const isList = Array.isArray(rules)
  return ([rules ?? []].flat() as WrittenRule[]).flatMap((rule, index) =>
    typeof rule === 'string' || rule.when === undefined || rule.when.length === 0
      ? []
      : [{ at: isList ? [...at, index, 'when'] : [...at, 'when'], when: rule.when }],
  )
}

/** What a schema says of one argument: whether a call may have it, must have it, and the values that it lists. */
export interface ArgumentFacts {
  readonly isKnown: boolean
  /** The names that stand in its place, where it cannot exist. */
  readonly instead: readonly string[] | null
  readonly isRequired: boolean
  readonly values: readonly JsonValue[] | null
  readonly hasMinimum: boolean
  readonly type: JsonValue | undefined
}

const UNKNOWN: ArgumentFacts = {
  isKnown: false,
  instead: null,
  isRequired: false,
  values: null,
  hasMinimum: false,
  type: undefined,
}

/** By the plain keywords only: what `$ref`, `anyOf` and others add may be narrower, never wider. */
export function argumentFacts(
  schema: CompiledContract['arguments'],
  steps: readonly (string | number)[],
): ArgumentFacts {
  let node: unknown = schema
  let isRequired = true
  for (const step of steps) {
    if (!isObject(node) || typeof step !== 'string') return UNKNOWN
    const { properties, required, additionalProperties, patternProperties } = node
    const fields = isObject(properties) ? properties : {}
    isRequired = isRequired && Array.isArray(required) && required.includes(step)
    if (!Object.hasOwn(fields, step)) {
      if (additionalProperties !== false || patternProperties !== undefined) return UNKNOWN
      return { ...UNKNOWN, isKnown: true, instead: Object.keys(fields) }
    }
    node = fields[step]
  }
  if (!isObject(node)) return { ...UNKNOWN, isRequired }
  const { const: only, enum: listed, minimum, exclusiveMinimum, type } = node
  const values = only !== undefined ? [only] : Array.isArray(listed) ? listed : null
  const hasMinimum = minimum !== undefined || exclusiveMinimum !== undefined
  return { isKnown: true, instead: null, isRequired, values, hasMinimum, type }
}

const isObject = (value: unknown): value is Record<string, JsonValue> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type Definition = Pick<CompiledContract, 'arguments' | 'argument_value_invariants'>

/** An argument by the path as it is written, and its steps. */
interface Argument {
  readonly path: string
  readonly steps: readonly (string | number)[]
}

/** The values that a contract lists for an argument, whatever else holds; null: it lists none. */
export function listedValues(definition: Definition, { path, steps }: Argument): readonly JsonValue[] | null {
  const listed = always(definition, path).find(({ one_of }) => one_of !== undefined)?.one_of
  return listed ?? argumentFacts(definition.arguments, steps).values
}

/** Whether a contract says how low an argument may be, whatever else holds. */
export function hasLowest(definition: Definition, { path, steps }: Argument): boolean {
  const isBounded = always(definition, path).some(({ gt, gte }) => gt !== undefined || gte !== undefined)
  return isBounded || argumentFacts(definition.arguments, steps).hasMinimum
}

const always = ({ argument_value_invariants: rules = [] }: Definition, path: string) =>
  rules.filter((rule) => rule.path === path && (rule.when ?? []).length === 0)
