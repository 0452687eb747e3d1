import type { Condition, Invariant, JsonValue, Operator } from '@countersign/protocol'

export const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
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

/** `$.amount is above 0 and is at most 500`. */
export const describeInvariant = (invariant: Invariant): string => `${invariant.path} ${comparisonsOf(invariant)}`

function comparisonsOf(rule: Condition | Invariant): string {
  const words = (Object.keys(COMPARISONS) as Operator[]).flatMap((operator) => {
    const operand = rule[operator] as JsonValue | undefined
    return operand === undefined ? [] : [COMPARISONS[operator](operand)]
  })
  return words.join(' and ')
}

/** `$.env equals “production”`, `the session is labelled untrusted`. */
export function describeCondition(condition: Condition): string {
  const { path, label, bound, principal, key } = condition
  if (label !== undefined) return `the session is ${condition.exists === false ? 'not ' : ''}labelled ${label}`
  if (bound !== undefined) return `the value bound as ${bound}${forKey(key)} ${comparisonsOf(condition)}`
  return `${path ?? `the principal's ${principal}`} ${comparisonsOf(condition)}`
}

type Conditions = readonly Condition[] | undefined

/** A sentence about a rule, behind the conditions under which it applies. */
export function underConditions(when: Conditions, sentence: string): string {
  if (when === undefined || when.length === 0) return sentence
  const words = `If ${when.map(describeCondition).join(' and ')}, or that cannot be told: `
  return `${words}${/^[A-Z][a-z]/.test(sentence) ? sentence.charAt(0).toLowerCase() : sentence.charAt(0)}${sentence.slice(1)}`
}

export const forKey = (key: string | undefined): string => (key === undefined ? '' : ` for the same ${key}`)

export const show = (value: JsonValue): string => (typeof value === 'string' ? `“${value}”` : JSON.stringify(value))
const showAll = (values: JsonValue): string => (Array.isArray(values) ? values : [values]).map(show).join(', ')
