import type {
  AggregateBound,
  ArgumentRule,
  Contract,
  JsonValue,
  LabelRule,
  Precondition,
  WrittenAsk,
} from '@countersign/protocol'
import { describeOrigin } from '../contract/source-rule.js'
import { describeCondition, describeInvariant, forKey, show, TYPES, underConditions } from './condition-words.js'
import { describeAsk } from './describe-ask.js'

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
    (refs ?? []).map(({ path, ref, key, when }) =>
      underConditions(when, `${path} equals the value bound as ${ref}${forKey(key)}.`),
    ),
  aggregates: ({ aggregates }) => (aggregates ?? []).map(describeAggregate),
  envelopes: ({ envelopes }) => (envelopes ?? []).map(describeEnvelope),
  labels: describeLabels,
  resources: ({ resources }) =>
    (resources ?? []).map(({ key, mode }) => `Holds ${key} ${mode === 'shared' ? 'shared' : 'exclusively'}.`),
  'execution_constraints.arguments': ({ execution_constraints: constraints }) =>
    rulesOn('Right before it runs, ', constraints?.arguments),
  checkpoint: describeCheckpoints,
  policy: ({ policy }) => (policy === undefined ? [] : ['Its policy must allow the call.']),
  principal: ({ principal }) => (principal === undefined ? [] : ['A token must prove for whom the session acts.']),
  hours: ({ hours }) => describeHours(hours),
} as const satisfies Record<string, (contract: Partial<Contract>) => string[]>

export type Part = keyof typeof DESCRIBE
const PARTS = Object.keys(DESCRIBE) as Part[]

const SURPRISE_WORDS = {
  used: 'A person is asked about a call that is unlike those learned from.',
  unused: "No session used it: a person is asked unless the user's words name what it does.",
} as const

type WrittenSource = NonNullable<Contract['sources']>[number]

function describeSourceRule(rule: WrittenSource): string[] {
  return sourceSentences(rule).map((sentence) => underConditions(rule.when, sentence))
}

function sourceSentences({ path, role, from, otherwise, dictated, quoted, invented }: WrittenSource): string[] {
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
  return [hours ?? []].flat().map(({ allow, time_zone, when }) => {
    const spans = allow.map(({ days = 'mon-sun', from, to }) => `${days} ${from} to ${to}`)
    return underConditions(when, `Allowed ${spans.join(', and ')} in the time zone ${time_zone}.`)
  })
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

const rulesOn = (where: string, invariants: readonly ArgumentRule[] = []): string[] =>
  invariants.map((invariant) => underConditions(invariant.when, `${where}${describeInvariant(invariant)}.`))

const describePrecondition = (precondition: Precondition): string =>
  underConditions(precondition.when, preconditionSentence(precondition))

function preconditionSentence(precondition: Precondition): string {
  if ('requires_step_count' in precondition) {
    return `Requires at least ${precondition.requires_step_count.gte} committed steps first.`
  }
  const { requires_prior_tool, same = [], with_output = [], consumes = false, latest = false } = precondition
  return [
    `Requires a call of ${requires_prior_tool} first`,
    same.length === 0 ? '' : ` with the same ${same.map(({ path }) => path).join(', ')}`,
    with_output.length === 0
      ? ''
      : `, in whose ${latest ? 'newest ' : ''}result ${with_output.map(describeInvariant).join(' and ')}`,
    latest && with_output.length === 0 ? ', of which the newest must have succeeded' : '',
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

const boundWords = (bound: AggregateBound, key: string | undefined): string =>
  typeof bound === 'number' ? String(bound) : `the value established as ${bound.ref}${forKey(key)}`

const DIRECTIONS = { at_most: 'at most', at_least: 'at least', within: 'as much as' } as const

type Aggregate = NonNullable<Contract['aggregates']>[number]

function describeAggregate({ function: sum, path, key, lte, lt, when }: Aggregate): string {
  const what = sum === 'count' ? 'The number of calls' : `The ${sum === 'max' ? 'highest' : 'sum'} of ${path}`
  const where = key === undefined ? 'in a session' : `for each ${key} in a session`
  const limits = [
    ...(lte === undefined ? [] : [`at most ${boundWords(lte, key)}`]),
    ...(lt === undefined ? [] : [`below ${boundWords(lt, key)}`]),
  ]
  const counted = `${what} ${where} is ${limits.join(' and ')}.`
  return underConditions(when, counted)
}

type Envelope = NonNullable<Contract['envelopes']>[number]

function describeEnvelope({ name, key, path, direction, tolerance_percent = 0, when }: Envelope): string {
  const tolerance = tolerance_percent === 0 ? '' : `, give or take ${tolerance_percent} %`
  const bound = `${path} is ${DIRECTIONS[direction]} the value established as ${name}${forKey(key)}${tolerance}.`
  return underConditions(when, bound)
}

function describeLabels({ labels }: Partial<Contract>): string[] {
  const { deny_when = [], adds = [], sticks_to } = labels ?? {}
  const also = sticks_to === undefined ? '' : ', and every new session of the same principal'
  return [
    ...labelSentences(deny_when, (names) => `Not allowed in a session labelled ${names.join(' or ')}.`),
    ...labelSentences(adds, (names) => `Labels the session ${names.join(', ')}${also}.`),
  ]
}

/** Those without conditions in one sentence. */
function labelSentences(rules: readonly LabelRule[], write: (names: readonly string[]) => string): string[] {
  const names = rules.flatMap((rule) => (typeof rule === 'string' ? [rule] : []))
  const others = rules.flatMap((rule) =>
    typeof rule === 'string' ? [] : [underConditions(rule.when, write([rule.label]))],
  )
  return names.length === 0 ? others : [write(names), ...others]
}

function describeCheckpoints({ checkpoint = [] }: Partial<Contract>): string[] {
  return (Array.isArray(checkpoint) ? checkpoint : [checkpoint]).map(({ when = [], reason, ask }) =>
    when.length === 0
      ? `A person is asked: ${reason}.${answered(ask)}`
      : `A person is asked if ${when.map(describeCondition).join(' and ')}${when.every(({ path }) => path !== undefined) ? '' : ', or that cannot be told'}: ${reason}.${answered(ask)}`,
  )
}

const answered = (ask: WrittenAsk | undefined): string => (ask === undefined ? '' : ` ${describeAsk(ask)}`)

const isObject = (value: JsonValue | undefined): value is Record<string, JsonValue> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
