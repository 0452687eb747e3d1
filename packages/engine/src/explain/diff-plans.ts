import type { CompiledContract, CompiledSession, JsonValue, SourceOrigin, SourceRule } from '@countersign/protocol'
import { describeOrigin } from '../contract/source-rule.js'
import { canonicalJson } from '../json/canonical-json.js'
import { describeContract } from './describe-contract.js'

/** One difference in words. `allows`: what was blocked may be allowed. `blocks`: the reverse. `changes`: it depends. */
export interface PlanChange {
  readonly tool: string | null
  readonly effect: 'allows' | 'blocks' | 'changes'
  readonly text: string
}

/** What becomes allowed or blocked if one plan replaces another; `before` is null for a first plan. */
export function diffPlans(before: CompiledSession | null, after: CompiledSession): PlanChange[] {
  const old = new Map((before?.contracts ?? []).map((contract) => [contract.tool, contract]))
  const next = new Map(after.contracts.map((contract) => [contract.tool, contract]))
  const changes: PlanChange[] = []
  for (const tool of [...new Set([...old.keys(), ...next.keys()])].sort()) {
    const was = old.get(tool)
    const is = next.get(tool)
    if (is === undefined) changes.push({ tool, effect: 'blocks', text: `${tool} no longer has a contract` })
    else if (was === undefined) changes.push({ tool, effect: 'allows', text: `${tool} has a contract now` })
    else changes.push(...diffContracts(was, is))
  }
  return [...changes, ...diffSessions(before?.session ?? {}, after.session)]
}

function diffContracts(was: CompiledContract, is: CompiledContract): PlanChange[] {
  const { tool } = is
  const say = (effect: PlanChange['effect'], text: string): PlanChange => ({ tool, effect, text: `${tool}: ${text}` })
  const changes = [
    ...diffGate(was, is, say),
    ...diffArguments(was, is, say),
    ...diffSources(was.sources ?? [], is.sources ?? [], say),
    ...diffLists(was, is, say),
  ]
  const covered = new Set<string>(['tool', 'gate', 'arguments', 'sources', ...Object.keys(LISTS)])
  const keys = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((key) => !covered.has(key)).sort()
  for (const key of keys as (keyof CompiledContract)[]) {
    if (!same(was[key], is[key])) changes.push(say('changes', `${key} changes`))
  }
  return changes
}

type Say = (effect: PlanChange['effect'], text: string) => PlanChange

function diffGate(was: CompiledContract, is: CompiledContract, say: Say): PlanChange[] {
  if (was.gate === is.gate) return []
  if (is.gate === 'block') return [say('blocks', 'gated: every call is blocked')]
  return [
    was.gate === 'block'
      ? say('allows', 'no longer gated')
      : say('changes', `gate is now ${is.gate ?? 'the default for its risk'}`),
  ]
}

/** The first level of the schema in words; deeper levels only as changed. */
function diffArguments(was: CompiledContract, is: CompiledContract, say: Say): PlanChange[] {
  if (same(was.arguments, is.arguments)) return []
  if (was.arguments === undefined) return [say('blocks', 'arguments must now match a schema')]
  if (is.arguments === undefined) return [say('allows', 'arguments no longer need to match a schema')]
  const [old, next] = [schemaParts(was.arguments), schemaParts(is.arguments)]
  const changes: PlanChange[] = []
  for (const field of next.required.filter((name) => !old.required.includes(name))) {
    changes.push(say('blocks', `argument ${field} is required`))
  }
  for (const field of old.required.filter((name) => !next.required.includes(name))) {
    changes.push(say('allows', `argument ${field} may be left out`))
  }
  for (const field of [...new Set([...old.fields.keys(), ...next.fields.keys()])].sort()) {
    const [before, after] = [old.fields.get(field), next.fields.get(field)]
    if (before === undefined) changes.push(say('allows', `argument ${field} is now accepted`))
    else if (after === undefined) changes.push(say('blocks', `argument ${field} is no longer accepted`))
    else if (!same(before, after)) changes.push(say('changes', `argument ${field} must be ${canonicalJson(after)}`))
  }
  return changes.length > 0 ? changes : [say('changes', 'the arguments schema changes')]
}

function schemaParts(schema: unknown): { required: string[]; fields: Map<string, JsonValue> } {
  if (typeof schema !== 'object' || schema === null) return { required: [], fields: new Map() }
  const { required, properties } = schema as Record<string, unknown>
  return {
    required: Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [],
    fields: new Map(Object.entries((properties ?? {}) as Record<string, JsonValue>)),
  }
}

function diffSources(was: readonly SourceRule[], is: readonly SourceRule[], say: Say): PlanChange[] {
  const old = new Map(was.map((rule) => [rule.path, rule]))
  const next = new Map(is.map((rule) => [rule.path, rule]))
  return [...new Set([...old.keys(), ...next.keys()])].sort().flatMap((path) => {
    const [before, after] = [old.get(path), next.get(path)]
    if (before === undefined) return [say('blocks', `${path} must come from ${originsOf(after)}`)]
    if (after === undefined) return [say('allows', `${path} may come from anywhere`)]
    return diffSource(before, after, say)
  })
}

function diffSource(before: SourceRule, after: SourceRule, say: Say): PlanChange[] {
  const { path } = after
  const missing = (from: readonly SourceOrigin[], among: readonly SourceOrigin[]) =>
    from.filter((origin) => !among.some((other) => same(origin, other)))
  const changes = [
    ...missing(after.from, before.from).map((origin) =>
      say('allows', `${path} may come from ${describeOrigin(origin)}`),
    ),
    ...missing(before.from, after.from).map((origin) =>
      say('blocks', `${path} may not come from ${describeOrigin(origin)}`),
    ),
  ]
  if (before.otherwise !== after.otherwise) {
    const effect = after.otherwise === 'ask' ? 'allows' : 'blocks'
    changes.push(say(effect, `any other source of ${path} ${after.otherwise === 'ask' ? 'asks a person' : 'blocks'}`))
  }
  if (before.role !== after.role)
    changes.push(say('changes', `${path} is judged ${after.role === undefined ? 'by its shape' : `as ${after.role}`}`))
  if (before.numbers !== after.numbers) {
    const effect = after.numbers === true ? 'blocks' : 'allows'
    changes.push(
      say(effect, `numbers in ${path} are ${after.numbers === true ? 'now' : 'no longer'} judged by their source`),
    )
  }
  const [had, has] = [new Set(before.known?.hashes), new Set(after.known?.hashes)]
  const added = [...has].filter((hash) => !had.has(hash)).length
  const gone = [...had].filter((hash) => !has.has(hash)).length
  if (added > 0) changes.push(say('allows', `${added} more known values of ${path}`))
  if (gone > 0) changes.push(say('blocks', `${gone} known values of ${path} are removed`))
  return changes
}

const originsOf = (rule: SourceRule | undefined): string => (rule?.from ?? []).map(describeOrigin).join(', or ')

/** Lists of rules: adding one narrows, removing one widens. */
const LISTS = {
  preconditions: 'precondition',
  argument_value_invariants: 'bound',
  refs: 'ref',
  aggregates: 'aggregate',
  envelopes: 'envelope',
  forbids_after: 'tool forbidden afterwards',
} as const

function diffLists(was: CompiledContract, is: CompiledContract, say: Say): PlanChange[] {
  return (Object.keys(LISTS) as (keyof typeof LISTS)[]).flatMap((key) => {
    const old: readonly unknown[] = was[key] ?? []
    const next: readonly unknown[] = is[key] ?? []
    const only = (items: readonly unknown[], others: readonly unknown[]) =>
      items.filter((item) => !others.some((other) => same(item, other)))
    const words = (item: unknown) => describeRule(is.tool, { [key]: [item] })
    return [
      ...only(next, old).map((item) => say('blocks', `new ${LISTS[key]}: ${words(item)}`)),
      ...only(old, next).map((item) => say('allows', `removed ${LISTS[key]}: ${words(item)}`)),
    ]
  })
}

/** One rule of a contract in words, without a full stop. */
const describeRule = (tool: string, rule: object): string =>
  describeContract({ tool, ...rule })
    .slice(1)
    .join(' ')
    .replace(/\.$/, '')

function diffSessions(was: CompiledSession['session'], is: CompiledSession['session']): PlanChange[] {
  const keys = [...new Set([...Object.keys(was), ...Object.keys(is)])].sort() as (keyof typeof is)[]
  return keys
    .filter((key) => !same(was[key], is[key]))
    .map((key) => {
      if (was[key] === undefined) return { tool: null, effect: 'changes' as const, text: `the session now has ${key}` }
      if (is[key] === undefined)
        return { tool: null, effect: 'changes' as const, text: `the session no longer has ${key}` }
      return { tool: null, effect: 'changes' as const, text: `${key} of the session changes` }
    })
}

function same(a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined) return a === b
  return canonicalJson(a as JsonValue) === canonicalJson(b as JsonValue)
}
