import type { Fact, JsonValue, Operator } from '@countersign/protocol'
import { compareDecimals, decimalText } from '../../json/decimal.js'
import { saltedHash } from '../../json/hash.js'
import type { CompiledPath } from '../../json/json-path.js'
import { type JsonType, jsonTypeOf } from '../../json/json-type.js'

/** Whether a condition holds, fails, or cannot be told. A rule is skipped only where a condition fails. */
export type Answer = 'holds' | 'fails' | 'unknown'

/** One comparison of a condition. */
export interface ConditionTest {
  readonly operator: Operator
  readonly operand: JsonValue
  readonly test: (found: JsonValue | undefined) => boolean
  /** True of a value that cannot be compared with the operand. */
  readonly cannotCompare: (found: JsonValue) => boolean
}

/** A condition, ready to be answered. */
export type PreparedCondition =
  | {
      readonly subject: 'path' | 'principal'
      readonly path: CompiledPath
      readonly tests: readonly ConditionTest[]
      /** What it says where nothing is found. */
      readonly missing: Answer
    }
  | { readonly subject: 'label'; readonly label: string; readonly exists: boolean }
  | {
      readonly subject: 'bound'
      readonly name: string
      readonly key: CompiledPath | null
      readonly tests: readonly Pick<ConditionTest, 'operator' | 'operand'>[]
    }

/** A rule that may apply only sometimes, and what its owner has to say. */
export interface Conditional {
  readonly when: readonly PreparedCondition[]
  readonly message: string | undefined
  /** What could not be told, so that the rule applies, in words. */
  readonly because?: string
}

/** What conditions are answered from. */
export interface Scene {
  /** Undefined: not known yet. */
  readonly arguments: JsonValue | undefined
  /** Undefined: the session has none. */
  readonly principal: JsonValue | undefined
  readonly salt: string
  /** Unknown: an earlier call of the same response may add it. */
  hasLabel(name: string): boolean | 'unknown'
  /** What is bound under a name and key; undefined: nothing; null: the key is not known, or cannot be one. */
  boundTo(name: string, key: CompiledPath | null): Fact | undefined | null
}

export function answerOf(condition: PreparedCondition, scene: Scene): Answer {
  switch (condition.subject) {
    case 'path':
      return ofValues(condition, scene.arguments)
    case 'principal':
      return ofValues(condition, scene.principal)
    case 'label': {
      const has = scene.hasLabel(condition.label)
      return has === 'unknown' ? 'unknown' : has === condition.exists ? 'holds' : 'fails'
    }
    case 'bound': {
      const fact = scene.boundTo(condition.name, condition.key)
      return fact === null ? 'unknown' : ofFact(condition.tests, fact, scene.salt)
    }
  }
}

/** True unless a condition surely fails. */
export const applies = ({ when }: Pick<Conditional, 'when'>, scene: Scene): boolean =>
  when.every((condition) => answerOf(condition, scene) !== 'fails')

/** True if all conditions surely hold. */
export const appliesSurely = ({ when }: Pick<Conditional, 'when'>, scene: Scene): boolean =>
  when.every((condition) => answerOf(condition, scene) === 'holds')

/** True of a rule whose conditions can be answered without the session. */
export const readsArgumentsOnly = ({ when }: Pick<Conditional, 'when'>): boolean =>
  when.every(({ subject }) => subject === 'path')

/** Where only the arguments of a call are known. */
export const sceneWithoutSession = (args: JsonValue): Scene => ({
  arguments: args,
  principal: undefined,
  salt: '',
  hasLabel: () => 'unknown',
  boundTo: () => null,
})

/** One value of many that passes is enough; one that cannot be compared might. */
function ofValues(
  { path, tests, missing }: Extract<PreparedCondition, { subject: 'path' | 'principal' }>,
  value: JsonValue | undefined,
): Answer {
  if (value === undefined) return 'unknown'
  let answer: Answer | null = null
  const judge = (found: JsonValue): boolean => {
    const one = ofValue(tests, found)
    answer = one === 'fails' ? (answer ?? one) : one
    return one === 'holds'
  }
  if (path.singular) {
    const found = path.first(value)
    return found === undefined ? missing : ofValue(tests, found)
  }
  path.visit(value, judge)
  return answer ?? missing
}

function ofValue(tests: readonly ConditionTest[], found: JsonValue): Answer {
  let answer: Answer = 'holds'
  for (const { test, cannotCompare } of tests) {
    if (test(found)) continue
    if (!cannotCompare(found)) return 'fails'
    answer = 'unknown'
  }
  return answer
}

/** Of a bound value only a hash is kept, and itself of numbers and booleans. */
function ofFact(
  tests: readonly Pick<ConditionTest, 'operator' | 'operand'>[],
  fact: Fact | undefined,
  salt: string,
): Answer {
  let answer: Answer = 'holds'
  for (const { operator, operand } of tests) {
    const one = compareFact(operator, operand, fact, salt)
    if (one === 'fails') return 'fails'
    if (one === 'unknown') answer = one
  }
  return answer
}

function compareFact(operator: Operator, operand: JsonValue, fact: Fact | undefined, salt: string): Answer {
  if (operator === 'exists') return (fact !== undefined) === operand ? 'holds' : 'fails'
  // `exists: true` beside it has failed already.
  if (fact === undefined) return 'unknown'
  const sign = SIGNS.get(operator)
  if (sign !== undefined) {
    if (fact.decimal === undefined || typeof operand !== 'number') return 'unknown'
    return sign(compareDecimals(fact.decimal, decimalText(operand))) ? 'holds' : 'fails'
  }
  const list = operator === 'one_of' || operator === 'not_one_of' ? (operand as JsonValue[]) : [operand]
  const isListed = list.some((item) => saltedHash(salt, item) === fact.hash)
  const isNegative = operator === 'not_equals' || operator === 'not_one_of'
  if (isListed !== isNegative) return 'holds'
  return isListed || list.some((item) => jsonTypeOf(item) === typeOfFact(fact)) ? 'fails' : 'unknown'
}

const SIGNS: ReadonlyMap<Operator, (order: number) => boolean> = new Map([
  ['gt', (order: number) => order > 0],
  ['gte', (order: number) => order >= 0],
  ['lt', (order: number) => order < 0],
  ['lte', (order: number) => order <= 0],
])

/** Facts of an older version say less. */
const typeOfFact = ({ decimal, boolean, type }: Fact): JsonType =>
  decimal !== undefined ? 'number' : boolean !== undefined ? 'boolean' : (type ?? 'string')
