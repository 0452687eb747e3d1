import type { ContractFailure, JsonValue } from '@countersign/protocol'
import { findIn, foundBy } from '../../contract/check-invariant.js'
import { renderResource } from '../../contract/resource.js'
import type { Conditional } from '../../contract/when/condition.js'
import { saltedHash } from '../../json/hash.js'
import type { CompiledPath } from '../../json/json-path.js'
import { lookUp } from '../../json/look-up.js'
import { slotFor } from './call-keys.js'
import { argumentPath, block, type CallContext, keepsOneOf, type Rule } from './rule.js'

/** A value from a source that the contract does not allow. */
export const sourceMismatch: Rule = ({ call, contract, sourceViolations }) => {
  if (sourceViolations.length === 0) return null
  const blocking = sourceViolations.filter(({ otherwise }) => otherwise === 'block')
  if (blocking.length === 0) return null
  const failures = blocking.map(
    ({ path, remedy }): ContractFailure => ({
      path: argumentPath(call.index, path),
      operator: 'source',
      message: remedy,
    }),
  )
  const remedies = [...new Set(blocking.map(({ remedy }) => remedy))].slice(0, 5)
  const blockingRules = new Set(blocking.map(({ rule }) => rule))
  return block('argument_value_mismatch', contract, {
    detail: 'source',
    remedy: `Check where the values come from: ${remedies.join('; ')}.`,
    rules: contract?.sources.filter(({ rule }) => blockingRules.has(rule)) ?? [],
    failures,
  })
}

/** A resource whose key cannot be rendered cannot be guarded. */
export const resourceUnnamed: Rule = ({ call, contract }) => {
  if (contract === null || call.arguments === null || contract.resources.length === 0) return null
  const args = call.arguments
  const failures = contract.resources
    .filter((resource) => renderResource(resource, args) === null)
    .flatMap(({ parts }) => parts.filter((part) => typeof part !== 'string'))
    .map(
      (path): ContractFailure => ({
        path: argumentPath(call.index, path.expression),
        operator: 'exists',
        expected: true,
        message: 'must be given as text that can all be seen, or as a number: it names what the call works on',
      }),
    )
  if (failures.length === 0) return null
  const paths = failures.map(({ path }) => path).join(', ')
  return block('argument_value_mismatch', contract, {
    detail: 'resource',
    remedy: `Give ${paths}.`,
    rules: [],
    failures,
  })
}

export const bindingNotFound: Rule = (context) => {
  const references = referencesOf(context)
  if (references.length === 0) return null
  const missing = references.filter(({ slot }) => lookUp(context.state.bindings, slot) === undefined)
  if (missing.length === 0) return null
  const names = new Set(missing.map(({ ref }) => ref))
  const failures = missing.map(
    ({ path, ref, key }): ContractFailure => ({
      path,
      operator: 'ref',
      expected: { ref },
      message: `"${ref}" is not bound yet${key === null ? '' : ` for this ${key}`}`,
    }),
  )
  const keys = [...new Set(missing.flatMap(({ key }) => (key === null ? [] : [key])))]
  const forKeys = keys.length === 0 ? '' : ` for the ${keys.join(', ')} of this call`
  const binders = [...context.plan.contracts.values()].filter(({ binds }) => keepsOneOf(names, binds))
  const shown = binders.slice(0, 8).map(({ tool }) => `"${tool}"`)
  const named = [...names].join(', ')
  return block('binding_not_found', context.contract, {
    detail: named,
    remedy: `Call ${shown.join(' or ')} first${forKeys}: the value ${named} comes from its result.`,
    fact: `The value ${named} is not bound yet${forKeys}.`,
    rules: rulesOf(missing),
    failures,
  })
}

export const refMismatch: Rule = (context) => {
  const references = referencesOf(context)
  if (references.length === 0) return null
  const { state, salt, contract } = context
  const failures: ContractFailure[] = []
  const mismatched: Reference[] = []
  for (const reference of references) {
    const { path, ref, slot, value, failedAtPreflight } = reference
    const bound = lookUp(state.bindings, slot)
    if (bound === undefined) continue
    if (!failedAtPreflight && value !== undefined && saltedHash(salt, value) === bound.hash) continue
    const message = `must be the value bound as "${ref}"`
    mismatched.push(reference)
    failures.push({
      path,
      operator: 'ref',
      expected: { ref },
      ...(value === undefined ? {} : { found: value }),
      message,
    })
  }
  if (failures.length === 0) return null
  const list = failures.map(({ path, message }) => `${path} ${message}`).join('; ')
  return block('ref_mismatch', contract, {
    detail: [...new Set(failures.map(({ expected }) => (expected as { ref: string }).ref))].join(', '),
    remedy: `Use the value that an earlier call returned: ${list}.`,
    fact: `Another value was bound: ${list}.`,
    rules: rulesOf(mismatched),
    failures,
  })
}

interface Reference {
  readonly path: string
  readonly ref: string
  /** Where the bound value stands: under its name, or under its name and a key. */
  readonly slot: string
  /** The path of the key. */
  readonly key: string | null
  readonly value: JsonValue | undefined
  /** Failed at preflight already. */
  readonly failedAtPreflight: boolean
  /** The rule that names it, if it is one of the contract's. */
  readonly rule?: Conditional | undefined
}

const rulesOf = (references: readonly Reference[]): Conditional[] => references.flatMap(({ rule }) => rule ?? [])

/** Every value of this call that must equal a binding: `refs`, and `ref` inside invariants. */
function referencesOf({ call, contract, response, inputFailures, keys }: CallContext): readonly Reference[] {
  if (contract === null || call.arguments === null) return NO_REFERENCES
  if (!contract.usesRefs && inputFailures.length === 0) return NO_REFERENCES
  const references: Reference[] = []
  const finder = findIn(call.arguments)
  const inArguments = (
    use: Pick<Reference, 'ref' | 'rule'>,
    path: CompiledPath,
    key: CompiledPath | null,
    slot: string | null,
  ) => {
    // A key that cannot be used is reported by its own rule.
    if (slot === null) return
    for (const node of foundBy(finder, path)) {
      const at = argumentPath(call.index, node.path)
      const name = key === null ? null : key.expression
      references.push({ ...use, path: at, slot, key: name, value: node.value, failedAtPreflight: false })
    }
  }
  for (const use of contract.refs) inArguments({ ref: use.name, rule: use }, use.path, use.key, slotFor(keys, use))
  for (const rule of contract.argumentInvariants) {
    const { path, ref } = rule
    if (ref !== null) inArguments({ ref, rule }, path, null, ref)
  }
  for (const { path, ref } of contract.outputInvariants) {
    if (ref === null) continue
    for (const node of foundBy(response.view(), path)) {
      references.push({ path: node.path, ref, slot: ref, key: null, value: node.value, failedAtPreflight: false })
    }
  }
  for (const { path, operator, expected, found } of inputFailures) {
    if (operator !== 'ref') continue
    const { ref } = expected as { ref: string }
    references.push({ path, ref, slot: ref, key: null, value: found, failedAtPreflight: true })
  }
  return references
}

const NO_REFERENCES: readonly Reference[] = []
