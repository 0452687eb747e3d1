import type { CardEdit, Checkpoint, CompiledContract, CompiledSession, LabelRule } from '@countersign/protocol'
import type { PolicyEvaluator, PreparedPolicy } from '../contract/cedar.js'
import { type PreparedHours, prepareHours } from '../contract/hours.js'
import type {
  PreparedArgumentRule,
  PreparedBind,
  PreparedCheckpoint,
  PreparedContract,
  PreparedInvariant,
  PreparedLabel,
  PreparedPrecondition,
  PreparedResource,
  Provision,
} from '../contract/plan.js'
import { sourceSteps } from '../contract/source-path.js'
import type { PreparedSource } from '../contract/source-rule.js'
import { listedValues } from '../contract/when/conditional-rules.js'
import { type CompiledPath, compilePath } from '../json/json-path.js'
import { type CompiledSchema, compileSchema } from '../json/schema/json-schema.js'
import { prepareInvariant, prepareInvariants, preparePath } from './prepare-invariant.js'
import { prepareKept } from './prepare-kept.js'
import { conditional, prepareWhen } from './prepare-when.js'
import { FIXES } from './report/fixes.js'
import type { Report } from './report/problem.js'

export interface ContractSurroundings {
  readonly file: string | undefined
  readonly session: CompiledSession['session']
  readonly evaluator: PolicyEvaluator | undefined
  readonly preconditions: readonly PreparedPrecondition[]
  readonly provides: readonly Provision[]
  /** The names of envelopes that the plan keeps per key. */
  readonly keyedEnvelopes: ReadonlySet<string>
  readonly report: Report
}

/** Compiles every path, pattern and schema of one contract, and reports those that cannot be compiled. */
export function prepareContract(contract: CompiledContract, around: ContractSurroundings): PreparedContract {
  const { report } = around
  const invariants = (list: Parameters<typeof prepareInvariants>[0], at: string[], allowsRef: boolean) =>
    prepareInvariants(list, { at, report, allowsRef })
  const kept = prepareKept(contract, around.keyedEnvelopes, report)
  const outputInvariants = invariants(contract.assertions?.output_invariants, ['assertions', 'output_invariants'], true)
  const argumentInvariants = prepareArgumentRules(contract.argument_value_invariants, report)
  const rules = {
    refs: kept.refs,
    envelopes: kept.envelopes,
    aggregates: kept.aggregates,
    argumentInvariants,
    sources: prepareSources(contract.sources, report),
    preconditions: around.preconditions,
    denials: prepareLabels(contract.labels?.deny_when, 'deny_when', report),
    addsLabels: prepareLabels(contract.labels?.adds, 'adds', report),
    hours: prepareHoursOf(contract.hours, report),
  }
  return {
    tool: contract.tool,
    file: around.file,
    definition: contract,
    argumentsSchema: prepareSchema(contract.arguments, report),
    inputInvariants: invariants(contract.assertions?.input_invariants, ['assertions', 'input_invariants'], true),
    outputInvariants,
    executionConstraints: invariants(
      contract.execution_constraints?.arguments,
      ['execution_constraints', 'arguments'],
      false,
    ),
    ...kept,
    usesRefs: kept.refs.length > 0 || [...outputInvariants, ...argumentInvariants].some(({ ref }) => ref !== null),
    ...rules,
    isConditional: Object.values(rules).some((list) => list.some(({ when }) => when.length > 0)),
    longest: longestTexts(contract.columns),
    provides: around.provides,
    resources: prepareResources(contract.resources, report),
    checkpoints: prepareCheckpoints(contract, report),
    policy: preparePolicy(around.evaluator, contract.policy, report, argumentNames(contract.arguments)),
    risk: riskOf(contract, around.session.risk_defaults ?? {}),
    commitRequirement: contract.commit_requirement,
    rollsBack: contract.evidence_class === 'local_transaction',
    outputPaths: outputPathsOf([...kept.binds, ...kept.establishes], around.provides),
  }
}

/** `argumentNames`: all arguments that the tool takes, if they are known. */
export function preparePolicy(
  evaluator: PolicyEvaluator | undefined,
  policy: CompiledContract['policy'],
  report: Report,
  argumentNames: readonly string[] | null,
): PreparedPolicy | null {
  if (policy === undefined || evaluator === undefined) return null
  const problems = evaluator.check(policy.cedar, argumentNames)
  if (problems.length === 0) return evaluator.prepare(policy.cedar)
  report(['policy', 'cedar'], `the policy cannot be used: ${problems.join('; ')}`, 'correct the Cedar policy')
  return null
}

/** The arguments that a closed schema lists; null if others may be there. */
function argumentNames(schema: CompiledContract['arguments']): string[] | null {
  if (typeof schema !== 'object' || schema.additionalProperties !== false) return null
  const { properties } = schema
  const isClosed = schema.patternProperties === undefined && typeof properties === 'object' && properties !== null
  return isClosed ? Object.keys(properties) : null
}

export function prepareHoursOf(hours: CompiledContract['hours'], report: Report): PreparedHours[] {
  return [hours ?? []].flat().flatMap((item, index) => {
    const at = Array.isArray(hours) ? ['hours', index] : ['hours']
    const prepared = prepareHours(item)
    if (prepared.ok) return [{ ...prepared.hours, ...conditional(item, at, report) }]
    report([...at, ...prepared.path], prepared.problem, prepared.fix)
    return []
  })
}

function prepareArgumentRules(list: CompiledContract['argument_value_invariants'], report: Report) {
  const at = ['argument_value_invariants']
  return (list ?? []).flatMap((item, index): PreparedArgumentRule[] => {
    const when = prepareWhen(item.when, { at: [...at, index, 'when'], report })
    const rule = prepareInvariant(item, { at: [...at, index], report, allowsRef: true })
    return rule === null ? [] : [{ ...rule, when }]
  })
}

function prepareLabels(list: readonly LabelRule[] | undefined, key: 'deny_when' | 'adds', report: Report) {
  return (list ?? []).map((item, index): PreparedLabel => {
    const rule = typeof item === 'string' ? { label: item } : item
    return { label: rule.label, ...conditional(rule, ['labels', key, index], report) }
  })
}

/** A contract's own gate wins. Admin and financial tools without a default follow the one for destructive tools. */
function riskOf(
  contract: CompiledContract,
  defaults: NonNullable<CompiledSession['session']['risk_defaults']>,
): PreparedContract['risk'] {
  if (contract.gate !== undefined) return contract.gate
  const effect = contract.side_effect
  const own = defaults[effect]
  if (own !== undefined) return own
  return effect === 'admin' || effect === 'financial' ? (defaults.destructive ?? 'allow') : 'allow'
}

function prepareSchema(schema: CompiledContract['arguments'], report: Report): CompiledSchema | null {
  if (schema === undefined) return null
  const compiled = compileSchema(schema)
  if (compiled.ok) return compiled
  report(['arguments'], compiled.problem, FIXES.schema)
  return null
}

function prepareSources(list: CompiledContract['sources'], report: Report): PreparedSource[] {
  return (list ?? []).flatMap((rule, index) => {
    const steps = sourceSteps(rule.path)
    const known = new Set(rule.known?.hashes)
    if (steps !== null) return [{ rule, steps, known, ...conditional(rule, ['sources', index], report) }]
    report(['sources', index, 'path'], 'a source path can only name arguments', FIXES.source_path)
    return []
  })
}

function longestTexts(columns: CompiledContract['columns']): ReadonlyMap<string, number> {
  const longest = new Map<string, number>()
  for (const column of columns ?? []) {
    if (column.longest !== undefined) longest.set(column.path, Math.max(longest.get(column.path) ?? 0, column.longest))
  }
  return longest
}

function prepareResources(list: CompiledContract['resources'], report: Report): PreparedResource[] {
  return (list ?? []).flatMap(({ key, mode }, index) => [
    { parts: keyParts(key, ['resources', index, 'key'], report), mode },
  ])
}

/** Splits `order:{$.order_id}` into its literal parts and its paths. */
function keyParts(key: string, at: (string | number)[], report: Report): (string | CompiledPath)[] {
  const parts: (string | CompiledPath)[] = []
  let rest = key
  for (;;) {
    const open = rest.indexOf('{')
    const literal = open === -1 ? rest : rest.slice(0, open)
    if (literal.includes('}')) report(at, 'the key has a `}` without a matching `{`', FIXES.resource_key)
    if (literal !== '') parts.push(literal)
    if (open === -1) return parts
    const close = rest.indexOf('}', open)
    if (close === -1) {
      report(at, 'the key has a `{` without a matching `}`', FIXES.resource_key)
      return parts
    }
    const path = preparePath(rest.slice(open + 1, close), at, report, { singular: 'a key is built from single values' })
    if (path !== null) parts.push(path)
    rest = rest.slice(close + 1)
  }
}

function prepareCheckpoints(contract: CompiledContract, report: Report): PreparedCheckpoint[] {
  const { checkpoint } = contract
  const list: readonly Checkpoint[] =
    checkpoint === undefined ? [] : Array.isArray(checkpoint) ? checkpoint : [checkpoint as Checkpoint]
  const prepared: PreparedCheckpoint[] = []
  for (const [index, definition] of list.entries()) {
    for (const [item, { path }] of definition.context.entries()) {
      preparePath(path, ['checkpoint', index, 'context', item, 'path'], report)
    }
    const at = ['checkpoint', index, 'when']
    const when = prepareWhen(definition.when, { at, report, isCheckpoint: true })
    prepared.push({ definition, when, message: definition.message, edits: editsOf(definition, contract) })
  }
  return prepared
}

/** Each with the values among which a person can choose. */
const editsOf = ({ ask }: Checkpoint, contract: CompiledContract): CardEdit[] =>
  (ask?.edit ?? []).map(({ path, to }) => {
    const compiled = to === 'one_of' ? compilePath(path) : null
    const steps = compiled?.ok === true ? compiled.path.steps : null
    const values = steps === null ? null : listedValues(contract, { path, steps })
    return { path, to, ...(values !== null && { values: [...values] }) }
  })

function outputPathsOf(binds: readonly PreparedBind[], provides: readonly Provision[]): string[] {
  const paths = new Set<string>()
  for (const { from, path, rows } of binds) if (from === 'output') paths.add(rows ?? path.expression)
  const invariants: PreparedInvariant[] = provides.flatMap(({ withOutput }) => [...withOutput])
  for (const { path } of invariants) paths.add(path.expression)
  return [...paths].sort()
}
