import type { CompiledSession } from '@countersign/protocol'
import {
  type CompiledContract,
  type contractSchema,
  type JsonValue,
  type LabelRule,
  LIMITS,
  type sessionDefinitionSchema,
} from '@countersign/protocol'
import { canonicalJson } from '../json/canonical-json.js'

type ReadContract = ReturnType<typeof contractSchema.parse>
type ReadDefinition = ReturnType<typeof sessionDefinitionSchema.parse>

/** Fills in defaults and brings what can be written in several ways into one form. */
export function compileContract(contract: ReadContract): CompiledContract {
  const { schema_version: _version, description: _description, source: _source, ...rules } = contract
  const sideEffect = contract.side_effect ?? 'write'
  return withoutUndefined({
    ...rules,
    side_effect: sideEffect,
    evidence_class: contract.evidence_class ?? 'unverifiable',
    commit_requirement: levelOf(contract.commit_requirement, sideEffect),
    response_format_invariants: formatOf(contract.response_format_invariants),
    transitions: contract.transitions && {
      ...contract.transitions,
      ...(contract.transitions.valid_in_phases && { valid_in_phases: sorted(contract.transitions.valid_in_phases) }),
    },
    forbids_after: contract.forbids_after && sorted(contract.forbids_after),
    labels: contract.labels && {
      ...(contract.labels.deny_when && { deny_when: labelsOf(contract.labels.deny_when) }),
      ...(contract.labels.adds && { adds: labelsOf(contract.labels.adds) }),
      ...(contract.labels.sticks_to && { sticks_to: contract.labels.sticks_to }),
    },
    checkpoint: checkpointsOf(contract.checkpoint),
    hours: hoursOf(contract.hours),
  }) as CompiledContract
}

/** The session definition without prose; sets are sorted, so that their order does not change the hash. */
export function compileDefinition(definition: ReadDefinition): CompiledSession['session'] {
  const { schema_version: _version, description: _description, ...rules } = definition
  const { transitions, provider_constraints: constraints } = rules
  return withoutUndefined({
    ...rules,
    hours: hoursOf(rules.hours),
    phases: rules.phases && [...rules.phases].sort((a, b) => (a.name < b.name ? -1 : 1)),
    transitions:
      transitions && Object.fromEntries(Object.entries(transitions).map(([from, targets]) => [from, sorted(targets)])),
    provider_constraints: constraints && {
      ...(constraints.block_incompatible && { block_incompatible: sorted(constraints.block_incompatible) }),
      ...(constraints.warn_incompatible && { warn_incompatible: sorted(constraints.warn_incompatible) }),
    },
  }) as CompiledSession['session']
}

/** `none` and `acknowledged` are older names of the two levels. */
function levelOf(
  written: ReadContract['commit_requirement'],
  sideEffect: CompiledContract['side_effect'],
): CompiledContract['commit_requirement'] {
  if (written === 'none') return 'reported'
  if (written === 'acknowledged') return 'executed'
  return written ?? (sideEffect === 'read' || sideEffect === 'egress_read' ? 'reported' : 'executed')
}

function formatOf(format: ReadContract['response_format_invariants']): CompiledContract['response_format_invariants'] {
  if (format?.finish_reason === undefined) return format
  return { ...format, finish_reason: sorted([format.finish_reason].flat()) }
}

function checkpointsOf(checkpoint: ReadContract['checkpoint']): CompiledContract['checkpoint'] {
  if (checkpoint === undefined) return undefined
  return [checkpoint].flat().map((item) => ({ ...item, timeout_seconds: clampTimeout(item.timeout_seconds) }))
}

/** One in a list is one. */
const hoursOf = (hours: ReadContract['hours']): CompiledContract['hours'] =>
  Array.isArray(hours) && hours.length === 1 ? hours[0] : hours

/** A label without conditions and words is its name. */
function labelsOf(labels: readonly LabelRule[]): LabelRule[] {
  const rules = labels.map((item) => (typeof item === 'object' && isPlain(item) ? item.label : item))
  const byText = new Map(rules.map((rule) => [typeof rule === 'string' ? rule : textOf(rule), rule]))
  return [...byText.keys()].sort().map((text) => byText.get(text) as LabelRule)
}

const isPlain = ({ when, message }: Exclude<LabelRule, string>): boolean => when === undefined && message === undefined

/** Behind every name, which has letters, digits, - and _ only. */
const textOf = (rule: LabelRule): string => `~${canonicalJson(rule as unknown as JsonValue)}`

export function clampTimeout(seconds: number): number {
  return Math.min(Math.max(seconds, LIMITS.checkpointTimeoutMinSeconds), LIMITS.checkpointTimeoutMaxSeconds)
}

function sorted<T extends string>(names: readonly T[]): T[] {
  return [...new Set(names)].sort()
}

function withoutUndefined(value: Record<string, unknown>): unknown {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined))
}
