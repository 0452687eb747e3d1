import type { CompiledContract, JsonValue } from '@countersign/protocol'
import { describeContract } from './describe-contract.js'
import { EFFECT_OF, type PlanChange, type Say } from './plan-change.js'
import { same, strengthOf } from './rule-strength.js'
import { schemaImplies } from './schema-strength.js'

type Schema = NonNullable<CompiledContract['arguments']>

/** The first level of the schema in words, each argument compared by meaning; deeper levels only as changed. */
export function diffArguments(was: Schema | undefined, is: Schema | undefined, say: Say): PlanChange[] {
  if (same(was, is)) return []
  if (was === undefined) return [say('blocks', 'arguments must now match a schema')]
  if (is === undefined) return [say('allows', 'arguments no longer need to match a schema')]
  const whole = strengthOf(schemaImplies(is, was), schemaImplies(was, is))
  if (whole === 'same') return []
  const changes = [...diffRequired(was, is, say), ...diffFields(partsOf(was), partsOf(is), say)]
  // The lines name what changed on the first level; if they do not tell it all, the whole schema decides.
  const told = new Set(changes.map(({ effect }) => effect))
  if (whole === 'different' ? changes.length > 0 : told.has(EFFECT_OF[whole])) return changes
  return [...changes, say(EFFECT_OF[whole], 'the arguments schema changes')]
}

function diffRequired(was: Schema, is: Schema, say: Say): PlanChange[] {
  const [old, next] = [partsOf(was).required, partsOf(is).required]
  return [
    ...next.filter((name) => !old.includes(name)).map((name) => say('blocks', `argument ${name} is required`)),
    ...old.filter((name) => !next.includes(name)).map((name) => say('allows', `argument ${name} may be left out`)),
  ]
}

function diffFields(old: Parts, next: Parts, say: Say): PlanChange[] {
  return [...new Set([...old.fields.keys(), ...next.fields.keys()])].sort().flatMap((field) => {
    const [before, after] = [old.fields.get(field) ?? old.others, next.fields.get(field) ?? next.others]
    if (before === false && after !== false) return [say('allows', `argument ${field} is now accepted`)]
    if (after === false && before !== false) return [say('blocks', `argument ${field} is no longer accepted`)]
    const strength = strengthOf(schemaImplies(after, before), schemaImplies(before, after))
    if (strength === 'same') return []
    return [say(EFFECT_OF[strength], `argument ${words(field, after)} (was: ${words(field, before)})`)]
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

/** One field as the description of a contract words it. */
const words = (field: string, schema: JsonValue): string =>
  (
    describeContract({ tool: '', arguments: { properties: { [field]: schema }, required: [field] } })[1] ?? field
  ).replace(/\.$/, '')
