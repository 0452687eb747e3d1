import type { ContractFailure, JsonValue } from '@countersign/protocol'
import { findIn, foundBy } from '../../contract/check-invariant.js'
import type { PreparedContract, PreparedEnvelope, SlotUse } from '../../contract/plan.js'
import type { Conditional } from '../../contract/when/condition.js'
import { addDecimals, compareDecimals, decimalText, multiplyDecimals, subtractDecimals } from '../../json/decimal.js'
import { establishedAs } from '../../state/kept-values.js'
import type { Extremes } from '../../state/state.js'
import { slotFor } from './call-keys.js'
import { argumentPath, argumentsAt, block, type CallContext, keepsOneOf, type Rule } from './rule.js'

export const envelopeNotEstablished: Rule = (context) => {
  const { contract, call, plan } = context
  if (contract === null || call.arguments === null) return null
  const missing = usesOf(contract).filter((use) => isMissing(use, context))
  if (missing.length === 0) return null
  const names = new Set(missing.map(({ name }) => name))
  const named = [...names].join(', ')
  const makers = [...plan.contracts.values()]
    .filter(({ establishes }) => keepsOneOf(names, establishes))
    .map(({ tool }) => `"${tool}"`)
  const keys = [...new Set(missing.flatMap(({ key }) => (key === null ? [] : [key.expression])))]
  const forKeys = keys.length === 0 ? '' : ` for the ${keys.join(', ')} of this call`
  return block('envelope_not_established', contract, {
    detail: named,
    remedy: `Call ${makers.slice(0, 8).join(' or ')} first${forKeys}: it sets the bound "${named}".`,
    fact: `The bound "${named}" is not set yet${forKeys}.`,
    rules: missing.map(({ rule }) => rule),
    failures: missing.map(({ name, path, operator, key }) => ({
      path: path === null ? argumentsAt(call.index) : argumentPath(call.index, path.expression),
      operator,
      message: `the bound "${name}" is not established yet${key === null ? '' : ` for this ${key.expression}`}`,
    })),
  })
}

/** A rule that needs an established value: an envelope, or an aggregate bounded by one. */
interface EnvelopeUse extends SlotUse {
  readonly rule: Conditional
  readonly path: PreparedEnvelope['path'] | null
  readonly operator: string
}

function usesOf({ envelopes, aggregates }: PreparedContract): readonly EnvelopeUse[] {
  if (envelopes.length === 0 && aggregates.length === 0) return NO_USES
  const uses: EnvelopeUse[] = []
  for (const rule of envelopes) {
    const { name, key, slot, path, direction } = rule
    uses.push({ name, key, slot, path, operator: direction, rule })
  }
  for (const rule of aggregates) {
    const { path, bounds } = rule
    for (const { ref, operator } of bounds) if (ref !== null) uses.push({ ...ref, path, operator, rule })
  }
  return uses
}

const NO_USES: readonly EnvelopeUse[] = []

/** A key that cannot be used is reported by its own rule. */
function isMissing(use: EnvelopeUse, { keys, state }: CallContext): boolean {
  const slot = slotFor(keys, use)
  return slot !== null && establishedAs(state, slot) === null
}

export const envelopeViolation: Rule = ({ call, contract, state, keys }) => {
  if (contract === null || call.arguments === null || contract.envelopes.length === 0) return null
  const finder = findIn(call.arguments)
  const failures: ContractFailure[] = []
  const rules: PreparedEnvelope[] = []
  for (const envelope of contract.envelopes) {
    const slot = slotFor(keys, envelope)
    const established = slot === null ? null : establishedAs(state, slot)
    if (established === null) continue
    const { low, high } = boundsOf(envelope, established)
    const source = established.low === established.high ? '' : ', the strictest value of this session'
    for (const { path, value } of foundBy(finder, envelope.path)) {
      if (isWithin(value, low, high)) continue
      rules.push(envelope)
      failures.push({
        path: argumentPath(call.index, path),
        operator: envelope.direction,
        expected: {
          ...(low === null ? {} : { at_least: Number(low) }),
          ...(high === null ? {} : { at_most: Number(high) }),
        },
        ...(value === undefined ? {} : { found: value }),
        message: `must be a number ${describeBounds(low, high)} ("${envelope.name}"${source})`,
      })
    }
  }
  if (failures.length === 0) return null
  return block('envelope_violation', contract, {
    remedy: `Correct ${failures.map(({ path, message }) => `${path}: ${message}`).join('; ')}.`,
    rules,
    failures,
  })
}

interface Bounds {
  readonly low: string | null
  readonly high: string | null
}

/** The strictest of what was established: at most the lowest, at least the highest. */
function boundsOf({ direction, tolerancePercent }: PreparedEnvelope, established: Extremes): Bounds {
  return {
    low:
      direction === 'at_most' ? null : subtractDecimals(established.high, slackOf(established.high, tolerancePercent)),
    high: direction === 'at_least' ? null : addDecimals(established.low, slackOf(established.low, tolerancePercent)),
  }
}

function slackOf(reference: string, tolerancePercent: string): string {
  const size = reference.startsWith('-') ? reference.slice(1) : reference
  return multiplyDecimals(multiplyDecimals(size, tolerancePercent), '0.01')
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
