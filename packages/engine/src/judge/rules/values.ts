import type { ContractFailure, JsonValue } from '@countersign/protocol'
import { findIn, foundBy } from '../../contract/check-invariant.js'
import type { PreparedEnvelope } from '../../contract/plan.js'
import { renderResource } from '../../contract/resource.js'
import { addDecimals, compareDecimals, decimalText, multiplyDecimals, subtractDecimals } from '../../json/decimal.js'
import { saltedHash } from '../../json/hash.js'
import type { CompiledPath } from '../../json/json-path.js'
import { lookUp } from '../../json/look-up.js'
import { argumentPath, block, type CallContext, type Rule } from './rule.js'

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
  return block('argument_value_mismatch', contract, {
    detail: 'source',
    remedy: `Check where the values come from: ${remedies.join('; ')}.`,
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
        message: 'must be given as text or a number: it names what the call works on',
      }),
    )
  if (failures.length === 0) return null
  const paths = failures.map(({ path }) => path).join(', ')
  return block('argument_value_mismatch', contract, { detail: 'resource', remedy: `Give ${paths}.`, failures })
}

export const bindingNotFound: Rule = (context) => {
  const references = referencesOf(context)
  if (references.length === 0) return null
  const missing = references.filter(({ ref }) => lookUp(context.state.bindings, ref) === undefined)
  if (missing.length === 0) return null
  const names = [...new Set(missing.map(({ ref }) => ref))]
  const failures = missing.map(
    ({ path, ref }): ContractFailure => ({
      path,
      operator: 'ref',
      expected: { ref },
      message: `"${ref}" is not bound yet`,
    }),
  )
  const binders = [...context.plan.contracts.values()]
    .filter((contract) => contract.binds.some(({ name }) => names.includes(name)))
    .map(({ tool }) => `"${tool}"`)
  return block('binding_not_found', context.contract, {
    detail: names.join(', '),
    remedy: `Call ${binders.slice(0, 8).join(' or ')} first: the value ${names.join(', ')} comes from its result.`,
    failures,
  })
}

export const refMismatch: Rule = (context) => {
  const references = referencesOf(context)
  if (references.length === 0) return null
  const { state, salt, contract } = context
  const failures: ContractFailure[] = []
  for (const { path, ref, value, failedAtPreflight } of references) {
    const bound = lookUp(state.bindings, ref)
    if (bound === undefined) continue
    if (!failedAtPreflight && value !== undefined && saltedHash(salt, value) === bound.hash) continue
    const message = `must be the value bound as "${ref}"`
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
    failures,
  })
}

interface Reference {
  readonly path: string
  readonly ref: string
  readonly value: JsonValue | undefined
  /** Failed at preflight already. */
  readonly failedAtPreflight: boolean
}

/** Every value of this call that must equal a binding: `refs`, and `ref` inside invariants. */
function referencesOf({ call, contract, response, inputFailures }: CallContext): readonly Reference[] {
  if (contract === null || call.arguments === null) return NO_REFERENCES
  if (!contract.usesRefs && inputFailures.length === 0) return NO_REFERENCES
  const references: Reference[] = []
  const finder = findIn(call.arguments)
  const inArguments = (path: CompiledPath, ref: string) => {
    for (const node of foundBy(finder, path)) {
      references.push({ path: argumentPath(call.index, node.path), ref, value: node.value, failedAtPreflight: false })
    }
  }
  for (const { path, ref } of contract.refs) inArguments(path, ref)
  for (const { path, ref } of contract.argumentInvariants) if (ref !== null) inArguments(path, ref)
  for (const { path, ref } of contract.outputInvariants) {
    if (ref === null) continue
    for (const node of foundBy(response.view(), path)) {
      references.push({ path: node.path, ref, value: node.value, failedAtPreflight: false })
    }
  }
  for (const { path, operator, expected, found } of inputFailures) {
    if (operator !== 'ref') continue
    references.push({ path, ref: (expected as { ref: string }).ref, value: found, failedAtPreflight: true })
  }
  return references
}

const NO_REFERENCES: readonly Reference[] = []

export const envelopeNotEstablished: Rule = ({ call, contract, state, plan }) => {
  if (contract === null || call.arguments === null || contract.envelopes.length === 0) return null
  const missing = contract.envelopes.filter(({ name }) => lookUp(state.envelopes, name) === undefined)
  if (missing.length === 0) return null
  const names = [...new Set(missing.map(({ name }) => name))]
  const makers = [...plan.contracts.values()]
    .filter((other) => other.establishes.some(({ name }) => names.includes(name)))
    .map(({ tool }) => `"${tool}"`)
  return block('envelope_not_established', contract, {
    detail: names.join(', '),
    remedy: `Call ${makers.slice(0, 8).join(' or ')} first: it sets the bound "${names.join(', ')}".`,
    failures: missing.map(({ name, path, direction }) => ({
      path: argumentPath(call.index, path.expression),
      operator: direction,
      message: `the bound "${name}" is not established yet`,
    })),
  })
}

export const envelopeViolation: Rule = ({ call, contract, state }) => {
  if (contract === null || call.arguments === null || contract.envelopes.length === 0) return null
  const finder = findIn(call.arguments)
  const failures: ContractFailure[] = []
  for (const envelope of contract.envelopes) {
    const reference = lookUp(state.envelopes, envelope.name)
    if (reference === undefined) continue
    const { low, high } = boundsOf(envelope, reference)
    for (const { path, value } of foundBy(finder, envelope.path)) {
      if (isWithin(value, low, high)) continue
      failures.push({
        path: argumentPath(call.index, path),
        operator: envelope.direction,
        expected: {
          ...(low === null ? {} : { at_least: Number(low) }),
          ...(high === null ? {} : { at_most: Number(high) }),
        },
        ...(value === undefined ? {} : { found: value }),
        message: `must be a number ${describeBounds(low, high)} ("${envelope.name}")`,
      })
    }
  }
  if (failures.length === 0) return null
  return block('envelope_violation', contract, {
    remedy: `Correct ${failures.map(({ path, message }) => `${path}: ${message}`).join('; ')}.`,
    failures,
  })
}

interface Bounds {
  readonly low: string | null
  readonly high: string | null
}

function boundsOf({ direction, tolerancePercent }: PreparedEnvelope, reference: string): Bounds {
  const size = reference.startsWith('-') ? reference.slice(1) : reference
  const slack = multiplyDecimals(multiplyDecimals(size, tolerancePercent), '0.01')
  return {
    low: direction === 'at_most' ? null : subtractDecimals(reference, slack),
    high: direction === 'at_least' ? null : addDecimals(reference, slack),
  }
}

function isWithin(value: JsonValue | undefined, low: string | null, high: string | null): boolean {
  if (typeof value !== 'number' || !Number.isFinite(value)) return false
  const exact = decimalText(value)
  return (low === null || compareDecimals(exact, low) >= 0) && (high === null || compareDecimals(exact, high) <= 0)
}

function describeBounds(low: string | null, high: string | null): string {
  if (low === null) return `of at most ${high}`
  return high === null ? `of at least ${low}` : `from ${low} to ${high}`
}
