import type { AggregateBound, Contract, Invariant, JsonValue, Operator, Precondition } from '@countersign/protocol'
import { describeOrigin } from '../contract/source-rule.js'

/** A contract in sentences for a reviewer, one for each rule. */
export function describeContract(contract: Contract): string[] {
  return [describeRisk(contract), ...PARTS.flatMap((part) => DESCRIBE[part](contract))]
}

/** The rules of one part of a contract, as `describeContract` words them. */
export const describePart = (part: Part, rules: Partial<Contract>): string[] => DESCRIBE[part](rules)

/** What a contract can say, in the order of its description. */
const DESCRIBE = {
  arguments: ({ arguments: schema }) => describeArguments(schema),
  argument_value_invariants: (contract) => rulesOn('', contract.argument_value_invariants),
  'assertions.input_invariants': ({ assertions }) => rulesOn('In the request, ', assertions?.input_invariants),
  'assertions.output_invariants': ({ assertions }) => rulesOn('In the response, ', assertions?.output_invariants),
  preconditions: ({ preconditions }) => (preconditions ?? []).map(describePrecondition),
  transitions: ({ transitions }) => describePhases(transitions),
  forbids_after: ({ forbids_after: tools = [] }) =>
    tools.length === 0 ? [] : [`After it, ${tools.join(', ')} may not be called.`],
  sources: ({ sources }) => (sources ?? []).flatMap(describeSourceRule),
  surprise: ({ surprise }) =>
    surprise === undefined ? [] : [SURPRISE_WORDS[surprise.unused === true ? 'unused' : 'used']],
  refs: ({ refs }) =>
    (refs ?? []).map(({ path, ref, key }) => `${path} equals the value bound as ${ref}${forKey(key)}.`),
  aggregates: ({ aggregates }) => (aggregates ?? []).map(describeAggregate),
  envelopes: ({ envelopes }) => (envelopes ?? []).map(describeEnvelope),
  labels: describeLabels,
  resources: ({ resources }) =>
    (resources ?? []).map(({ key, mode }) => `Holds ${key} ${mode === 'shared' ? 'shared' : 'exclusively'}.`),
  'execution_constraints.arguments': ({ execution_constraints: constraints }) =>
    rulesOn('Right before it runs, ', constraints?.arguments),
  checkpoint: describeCheckpoints,
  policy: ({ policy }) => (policy === undefined ? [] : ['Its policy must allow the call.']),
  hours: ({ hours }) => describeHours(hours),
} as const satisfies Record<string, (contract: Partial<Contract>) => string[]>

export type Part = keyof typeof DESCRIBE
const PARTS = Object.keys(DESCRIBE) as Part[]

const SURPRISE_WORDS = {
  used: 'A person is asked about a call that is unlike those learned from.',
  unused: "No session used it: a person is asked unless the user's words name what it does.",
} as const

type WrittenSource = NonNullable<Contract['sources']>[number]

function describeSourceRule({ path, role, from, otherwise, dictated, quoted, invented }: WrittenSource): string[] {
  if (role === 'choice') return [`${path} is chosen from its list and needs no source.`]
  const subject = path === '$' ? 'every other argument' : path
  return [
    `${path === '$' ? 'Every other argument' : path} comes from ${from.map(describeOrigin).join(', or ')}; otherwise ${OUTCOMES[otherwise ?? 'block']}.`,
    ...(dictated === undefined
      ? []
      : [`If only free text of a result names a date or number of ${subject}, ${OUTCOMES[dictated]}.`]),
    ...(quoted === undefined ? [] : [`If ${subject} repeats free text of a result, ${OUTCOMES[quoted]}.`]),
    ...(invented === undefined || invented === otherwise
      ? []
      : [`If an address or id of ${subject} was seen nowhere, ${OUTCOMES[invented]}.`]),
  ]
}

const OUTCOMES = { ask: 'a person is asked', block: 'the call is blocked', note: 'it is only noted' } as const

function describeHours(hours: Contract['hours']): string[] {
  if (hours === undefined) return []
  const spans = hours.allow.map(({ days = 'mon-sun', from, to }) => `${days} ${from} to ${to}`)
  return [`Allowed ${spans.join(', and ')} in the time zone ${hours.time_zone}.`]
}

const EFFECTS = {
  read: 'Reads only',
  egress_read: 'Reads from outside',
  write: 'Changes data',
  destructive: 'May destroy data',
  admin: 'Administers the system',
  financial: 'Moves money',
} as const

function describeRisk({ side_effect, gate }: Contract): string {
  const effect = side_effect === undefined ? 'Its side effect is not declared' : EFFECTS[side_effect]
  if (gate === 'block') return `${effect}: every call is blocked.`
  if (gate === 'allow') return `${effect}: calls that satisfy the rules are allowed.`
  return `${effect}: the session's default for this risk applies.`
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
}

/** The first level of the schema; for deeper levels see the YAML. */
function describeArguments(schema: Contract['arguments']): string[] {
  if (typeof schema !== 'object') return schema === false ? ['It takes no arguments.'] : []
  const { properties, required, additionalProperties } = schema
  const needed = new Set(Array.isArray(required) ? required : [])
  const fields = isObject(properties) ? Object.entries(properties) : []
  return [
    ...fields.map(([name, field]) => `${describeArgument(name, field)}${needed.has(name) ? '' : ' (optional)'}.`),
    ...(additionalProperties === false ? ['No other arguments are allowed.'] : []),
  ]
}

/** One argument as the description of a contract words it, without a full stop. */
export const describeArgument = (name: string, schema: JsonValue): string => `${name} is ${describeField(schema)}`

function describeField(field: JsonValue): string {
  if (!isObject(field)) return field === false ? 'never allowed' : 'anything'
  const { type, pattern, format, minimum, maximum, minLength, maxLength, minItems, maxItems } = field
  const types = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === 'string')
  return [
    types.length === 0 ? 'a value' : types.map((name) => TYPES[name] ?? name).join(' or '),
    field.const === undefined ? '' : ` equal to ${show(field.const)}`,
    Array.isArray(field.enum) ? ` from the list ${field.enum.map(show).join(', ')}` : '',
    typeof format === 'string' ? ` of the form ${format}` : '',
    typeof pattern === 'string' ? ` that matches ${pattern}` : '',
    between(minimum, maximum, ''),
    between(minLength, maxLength, ' characters'),
    between(minItems, maxItems, ' items'),
  ].join('')
}

function between(least: JsonValue | undefined, most: JsonValue | undefined, unit: string): string {
  if (typeof least !== 'number') return typeof most === 'number' ? ` of at most ${most}${unit}` : ''
  return typeof most === 'number' ? ` from ${least} to ${most}${unit}` : ` of at least ${least}${unit}`
}

const COMPARISONS: Readonly<Record<Operator, (operand: JsonValue) => string>> = {
  exists: (wanted) => (wanted === true ? 'is present' : 'is absent'),
  type: (type) => `is ${TYPES[String(type)] ?? String(type)}`,
  equals: (value) => `equals ${show(value)}`,
  not_equals: (value) => `is not ${show(value)}`,
  one_of: (values) => `is one of ${showAll(values)}`,
  not_one_of: (values) => `is none of ${showAll(values)}`,
  gt: (value) => `is above ${show(value)}`,
  gte: (value) => `is at least ${show(value)}`,
  lt: (value) => `is below ${show(value)}`,
  lte: (value) => `is at most ${show(value)}`,
  regex: (pattern) => `matches ${String(pattern)}`,
  not_regex: (pattern) => `does not match ${String(pattern)}`,
  contains: (value) => `contains ${show(value)}`,
  starts_with: (text) => `starts with ${show(text)}`,
  ends_with: (text) => `ends with ${show(text)}`,
  length_gte: (length) => `has a length of at least ${show(length)}`,
  length_lte: (length) => `has a length of at most ${show(length)}`,
  schema: () => 'matches a schema',
  ref: (name) => `equals the value bound as ${String(name)}`,
}

const rulesOn = (where: string, invariants: readonly Invariant[] = []): string[] =>
  invariants.map((invariant) => `${where}${describeInvariant(invariant)}.`)

function describeInvariant({ path, message: _, ...operators }: Invariant): string {
  const parts = (Object.entries(operators) as [Operator, JsonValue | undefined][]).flatMap(([operator, operand]) =>
    operand === undefined ? [] : [COMPARISONS[operator](operand)],
  )
  return `${path} ${parts.join(' and ')}`
}

function describePrecondition(precondition: Precondition): string {
  if ('requires_step_count' in precondition) {
    return `Requires at least ${precondition.requires_step_count.gte} committed steps first.`
  }
  const { requires_prior_tool, same = [], with_output = [], consumes = false } = precondition
  return [
    `Requires a call of ${requires_prior_tool} first`,
    same.length === 0 ? '' : ` with the same ${same.map(({ path }) => path).join(', ')}`,
    with_output.length === 0 ? '' : `, in whose result ${with_output.map(describeInvariant).join(' and ')}`,
    consumes ? '; that call is then used up' : '',
    '.',
  ].join('')
}

function describePhases(transitions: Contract['transitions']): string[] {
  return [
    ...(transitions?.valid_in_phases === undefined
      ? []
      : [`Allowed in the phase ${transitions.valid_in_phases.join(' or ')}.`]),
    ...(transitions?.advances_to === undefined ? [] : [`Moves to the phase ${transitions.advances_to}.`]),
  ]
}

const forKey = (key: string | undefined): string => (key === undefined ? '' : ` for the same ${key}`)

const boundWords = (bound: AggregateBound, key: string | undefined): string =>
  typeof bound === 'number' ? String(bound) : `the value established as ${bound.ref}${forKey(key)}`

const DIRECTIONS = { at_most: 'at most', at_least: 'at least', within: 'as much as' } as const

type Aggregate = NonNullable<Contract['aggregates']>[number]

function describeAggregate({ function: sum, path, key, lte, lt }: Aggregate): string {
  const what = sum === 'count' ? 'The number of calls' : `The ${sum === 'max' ? 'highest' : 'sum'} of ${path}`
  const where = key === undefined ? 'in a session' : `for each ${key} in a session`
  const limits = [
    ...(lte === undefined ? [] : [`at most ${boundWords(lte, key)}`]),
    ...(lt === undefined ? [] : [`below ${boundWords(lt, key)}`]),
  ]
  return `${what} ${where} is ${limits.join(' and ')}.`
}

type Envelope = NonNullable<Contract['envelopes']>[number]

function describeEnvelope({ name, key, path, direction, tolerance_percent = 0 }: Envelope): string {
  const tolerance = tolerance_percent === 0 ? '' : `, give or take ${tolerance_percent} %`
  return `${path} is ${DIRECTIONS[direction]} the value established as ${name}${forKey(key)}${tolerance}.`
}

function describeLabels({ labels }: Partial<Contract>): string[] {
  const { deny_when = [], adds = [], sticks_to } = labels ?? {}
  const also = sticks_to === undefined ? '' : ', and every new session of the same principal'
  return [
    ...(deny_when.length === 0 ? [] : [`Not allowed in a session labelled ${deny_when.join(' or ')}.`]),
    ...(adds.length === 0 ? [] : [`Labels the session ${adds.join(', ')}${also}.`]),
  ]
}

function describeCheckpoints({ checkpoint = [] }: Partial<Contract>): string[] {
  return (Array.isArray(checkpoint) ? checkpoint : [checkpoint]).map(({ when = [], reason }) =>
    when.length === 0
      ? `A person is asked: ${reason}.`
      : `A person is asked if ${when.map(describeInvariant).join(' and ')}: ${reason}.`,
  )
}

const show = (value: JsonValue): string => (typeof value === 'string' ? `“${value}”` : JSON.stringify(value))
const showAll = (values: JsonValue): string => (Array.isArray(values) ? values : [values]).map(show).join(', ')
const isObject = (value: JsonValue | undefined): value is Record<string, JsonValue> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
