import type { CompiledContract, JsonValue } from '@countersign/protocol'
import type { Comparison } from './comparison.js'
import { describeArgument } from './describe-contract.js'
import { EFFECT_OF, type PlanChange, type Say } from './plan-change.js'
import { type Strength, strengthOf } from './rule-strength.js'
import { schemaImplies } from './schema-strength.js'

type Schema = NonNullable<CompiledContract['arguments']>

/** The first level of the schema in words, each argument compared by meaning; deeper levels only as changed. */
export function diffArguments(
  was: Schema | undefined,
  is: Schema | undefined,
  say: Say,
  comparison: Comparison,
): PlanChange[] {
  if (comparison.same(was, is)) return []
  if (was === undefined) return [say('blocks', 'arguments must now match a schema')]
  if (is === undefined) return [say('allows', 'arguments no longer need to match a schema')]
  const whole = strengthOfSchemas(was, is, comparison)
  if (whole === 'same') return []
  const [old, next] = [partsOf(was), partsOf(is)]
  const changes = [...diffRequired(old, next, say), ...diffFields(old, next, say, comparison)]
  // The lines name what changed on the first level; if they do not tell it all, the whole schema decides.
  const told = new Set(changes.map(({ effect }) => effect))
  if (whole === 'different' ? changes.length > 0 : told.has(EFFECT_OF[whole])) return changes
  return [...changes, say(EFFECT_OF[whole], 'the arguments schema changes')]
}

function strengthOfSchemas(was: JsonValue, is: JsonValue, comparison: Comparison): Strength {
  if (comparison.same(was, is)) return 'same'
  const implies = (given: JsonValue, wanted: JsonValue) => schemaImplies(given, wanted, comparison)
  return strengthOf(implies(is, was), implies(was, is))
}

function diffRequired({ required: old }: Parts, { required: next }: Parts, say: Say): PlanChange[] {
  const [had, has] = [new Set(old), new Set(next)]
  return [
    ...next.filter((name) => !had.has(name)).map((name) => say('blocks', `argument ${name} is required`)),
    ...old.filter((name) => !has.has(name)).map((name) => say('allows', `argument ${name} may be left out`)),
  ]
}

function diffFields(old: Parts, next: Parts, say: Say, comparison: Comparison): PlanChange[] {
  const [oldWords, nextWords] = [wordsIn(old), wordsIn(next)]
  return [...new Set([...old.fields.keys(), ...next.fields.keys()])].sort().flatMap((field) => {
    const [before, after] = [old.fields.get(field) ?? old.others, next.fields.get(field) ?? next.others]
    if (before === false && after !== false) return [say('allows', `argument ${field} is now accepted`)]
    if (after === false && before !== false) return [say('blocks', `argument ${field} is no longer accepted`)]
    const strength = strengthOfSchemas(before, after, comparison)
    if (strength === 'same') return []
    return [say(EFFECT_OF[strength], `argument ${nextWords(field)} (was: ${oldWords(field)})`)]
  })
}

interface Parts {
  readonly required: readonly string[]
  readonly fields: ReadonlyMap<string, JsonValue>
  /** What a field that is not named must be. */
  readonly others: JsonValue
}

function partsOf(schema: Schema): Parts {
  if (typeof schema !== 'object') return { required: [], fields: new Map(), others: schema }
  const { required, properties, additionalProperties } = schema
  return {
    required: Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [],
    fields: new Map(Object.entries((properties ?? {}) as Record<string, JsonValue>)),
    others: additionalProperties ?? true,
  }
}

/** A schema for all arguments without one of their own may be long, and thousands of arguments may have it. */
const MOST_WORDS = 500

/** An argument as the description of a contract words it. */
function wordsIn({ fields, others }: Parts): (field: string) => string {
  const words = describeArgument('', others)
  const ofOthers = words.length <= MOST_WORDS ? words : ' is what every other argument must be'
  return (field) => {
    const own = fields.get(field)
    return own === undefined ? `${field}${ofOthers}` : describeArgument(field, own)
  }
}
