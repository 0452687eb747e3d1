import { claimsProof, closestName, PROOF_IS_RESERVED, patternMeant } from '@countersign/engine'
import { idSchema, type JsonValue, LABEL_PATTERN, LIMITS, providerConstraintsSchema } from '@countersign/protocol'
import { isPrepared } from '../contracts/contracts.js'
import { addressProblem } from './environment.js'

/** The values that an option takes. */
export interface OptionKind {
  /** As the reference page writes it. */
  readonly type: string
  /** The values of a choice and what each of them does. */
  readonly values?: Readonly<Record<string, string>>
  /** The bounds of a number, both included. */
  readonly min?: number
  readonly max?: number
  /** What is wrong with a value, such as "must be true or false, not 5"; null if it can be used. */
  problem(value: unknown): string | null
}

/** One of a few strings. Every value needs its meaning, so none can be forgotten. */
export function choice<Value extends string>(values: Readonly<Record<Value, string>>): OptionKind {
  const names = Object.keys(values)
  return {
    type: names.map((name) => `\`${name}\``).join(', '),
    values,
    problem: (value) => {
      if (typeof value === 'string' && names.includes(value)) return null
      const meant = typeof value === 'string' ? closestName(value, names) : null
      return mustBe(`one of ${names.join(', ')}`, value) + (meant === null ? '' : `: did you mean "${meant}"?`)
    },
  }
}

export function wholeNumber(min: number, max: number): OptionKind & { readonly max: number } {
  const isWithin = (value: unknown) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max
  return {
    type: `number, ${min} to ${max}`,
    min,
    max,
    problem: (value) => (isWithin(value) ? null : mustBe(`a whole number from ${min} to ${max}`, value)),
  }
}

export const flag: OptionKind = {
  type: 'boolean',
  problem: (value) => (typeof value === 'boolean' ? null : mustBe('true or false', value)),
}

export const callback: OptionKind = {
  type: 'function',
  problem: (value) => (typeof value === 'function' ? null : mustBe('a function', value)),
}

export const anyText: OptionKind = {
  type: 'string',
  problem: (value) => (typeof value === 'string' ? null : mustBe('a string', value)),
}

export const text: OptionKind = {
  type: 'string',
  problem: (value) =>
    typeof value === 'string' && value !== '' && value.length <= LIMITS.idLength
      ? null
      : mustBe(`a string of 1 to ${LIMITS.idLength} characters`, value),
}

export const id: OptionKind = {
  type: 'string',
  problem: (value) =>
    idSchema.safeParse(value).success ? null : mustBe(`1 to ${LIMITS.idLength} of A-Z a-z 0-9 _ . : -`, value),
}

export const path: OptionKind = {
  type: 'string',
  problem: (value) => {
    if (value instanceof URL) return 'must be a path, not a URL: convert it with fileURLToPath from node:url'
    return typeof value === 'string' && value !== '' ? null : mustBe('a path', value)
  },
}

const LONGEST_KEY = 1_024

/** The value is not repeated: it is a secret. An empty value means no key, such as from a variable that is not set. */
export const key: OptionKind = {
  type: 'string',
  problem: (value) => {
    if (!value) return null
    if (typeof value !== 'string') return `must be a string, not ${kindOf(value)}`
    return value.trim().length <= LONGEST_KEY ? null : `must be at most ${LONGEST_KEY} characters long`
  },
}

export const address: OptionKind = {
  type: 'string',
  problem: addressProblem,
}

export const contractObjects: OptionKind = {
  type: 'contract, array or prepared contracts',
  problem: (value) => {
    if (isPrepared(value)) return null
    for (const contract of [value].flat()) {
      if (typeof contract === 'string') return 'must be contract objects: pass a folder as contractsDir'
      if (typeof contract === 'object' && contract !== null && 'compiled_hash' in contract) {
        return 'must be contracts as they are written, or the one result of prepareContracts'
      }
    }
    return null
  },
}

export const executors: OptionKind = {
  type: 'map of tool name to function',
  problem: (value) => {
    // Object.entries would find neither the entries of a Map nor the names in an array.
    if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Map) {
      return mustBe('an object of functions by tool name, such as { search: async ({ query }) => … }', value)
    }
    const wrong = Object.entries(value).find(([, executor]) => typeof executor !== 'function')
    return wrong === undefined ? null : `must have a function for ${JSON.stringify(wrong[0])}, not ${shown(wrong[1])}`
  },
}

export const constraints: OptionKind = {
  type: 'object',
  problem: (value) => {
    const read = providerConstraintsSchema.safeParse(value)
    if (!read.success) return 'must be { block_incompatible?: string[], warn_incompatible?: string[] }'
    const { block_incompatible: blocking = [], warn_incompatible: warning = [] } = read.data
    for (const pattern of [...blocking, ...warning]) {
      const meant = patternMeant(pattern)
      if (meant === null) continue
      return `has ${JSON.stringify(pattern)}, which matches no provider and no model: did you mean ${JSON.stringify(meant)}?`
    }
    return null
  },
}

export const store: OptionKind = {
  type: 'store',
  problem: (value) => {
    const { load, save } = Object(value) as Record<string, unknown>
    return typeof load === 'function' && typeof save === 'function'
      ? null
      : 'must have the functions load(sessionId) and save(sessionId, stored, expectedVersion)'
  },
}

export const labelList: OptionKind = {
  type: 'array of string',
  problem: (value) => {
    if (!Array.isArray(value)) return mustBe('an array of labels', value)
    const wrong = value.findIndex((label) => !isLabel(label))
    if (wrong >= 0) return `contains ${shown(value[wrong])}: ${LABEL_RULE}`
    const count = new Set(value).size
    return count <= LIMITS.labelsPerSession
      ? null
      : `may contain at most ${LIMITS.labelsPerSession} labels, not ${count}`
  },
}

export const isLabel = (value: unknown): value is string => typeof value === 'string' && LABEL_PATTERN.test(value)

export const LABEL_RULE = 'a label is 1 to 128 letters, digits, hyphens or underscores (A-Z a-z 0-9 - _)'

/** The value is not repeated: it is a secret. */
export const token: OptionKind = {
  type: 'string or function',
  problem: (value) => {
    if (typeof value === 'function') return null
    if (typeof value !== 'string') return `must be a string or a function that returns one, not ${kindOf(value)}`
    return value !== '' && value.length <= LIMITS.principalTokenLength
      ? null
      : `must have 1 to ${LIMITS.principalTokenLength} characters`
  },
}

/** The value is not repeated: it says who a person is. */
export const principal: OptionKind = {
  type: 'any',
  problem: (value) => {
    const bytes = jsonBytes(value)
    if (bytes === null) return 'must be a value that can be written as JSON'
    if (claimsProof(value as JsonValue)) return PROOF_IS_RESERVED
    return bytes <= LIMITS.principalBytes
      ? null
      : `must be at most ${LIMITS.principalBytes} bytes as JSON, not ${bytes}`
  },
}

function jsonBytes(value: unknown): number | null {
  try {
    const json: string | undefined = JSON.stringify(value)
    return json === undefined ? null : Buffer.byteLength(json)
  } catch {
    return null
  }
}

export function objectLike(example: string): OptionKind {
  return {
    type: 'object',
    problem: (value) =>
      typeof value === 'object' && value !== null ? null : mustBe(`an object, such as ${example}`, value),
  }
}

export const workflowDefinition: OptionKind = {
  type: 'object or path',
  // What is wrong inside of it is found by compiling it.
  problem: () => null,
}

/** For options whose value often comes from elsewhere: null counts as not given. */
export const orNull = (kind: OptionKind): OptionKind => ({
  ...kind,
  problem: (value) => (value === null ? null : kind.problem(value)),
})

const mustBe = (allowed: string, value: unknown): string => `must be ${allowed}, not ${shown(value)}`

/** A value for an error message: short, and never the content of an object, which may contain a secret. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  return value === null || (typeof value !== 'object' && typeof value !== 'function') ? String(value) : kindOf(value)
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
