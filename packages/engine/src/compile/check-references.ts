import {
  type CompiledContract,
  type CompiledSession,
  type Invariant,
  LIMITS,
  type SideEffect,
} from '@countersign/protocol'
import type { PhaseGraph } from '../contract/plan.js'
import { FORBIDDEN_KEYS } from '../json/strict-json.js'
import { suggestName } from '../text/closest-name.js'
import { FIXES } from './fixes.js'
import type { Report, ReportTo } from './problem.js'

/** Reports every name that is used but not declared, and what a contract's side effect does not permit. */
export function checkReferences(compiled: CompiledSession, graph: PhaseGraph | null, reportTo: ReportTo): void {
  const declared = {
    tools: new Set(compiled.contracts.map(({ tool }) => tool)),
    bindings: namesOf(compiled.contracts, 'binds'),
    envelopes: namesOf(compiled.contracts, 'establishes'),
  }
  compiled.contracts.forEach((contract, index) => {
    const report = reportTo(contract.tool, index)
    checkTools(contract, declared.tools, report)
    checkBindings(contract, declared.bindings, report)
    checkEnvelopes(contract, declared.envelopes, report)
    checkPhases(contract, graph, report)
    checkRepeatedNames(contract, report)
    checkSideEffect(contract, report)
  })
  checkAggregates(compiled.contracts, reportTo)
  const report = reportTo(null, null)
  for (const tool of Object.keys(compiled.session.session_limits?.max_calls_per_tool ?? {})) {
    if (!declared.tools.has(tool))
      undeclared('tool', tool, declared.tools, ['session_limits', 'max_calls_per_tool', tool], report)
  }
  for (const [kind, names] of [
    ['bindings', declared.bindings],
    ['envelopes', declared.envelopes],
  ] as const) {
    if (names.size > LIMITS.bindingsPerSession) {
      report(
        [],
        `the contracts declare ${names.size} ${kind}; the limit is ${LIMITS.bindingsPerSession}`,
        'declare fewer',
      )
    }
  }
}

function namesOf(contracts: readonly CompiledContract[], key: 'binds' | 'establishes'): Set<string> {
  return new Set(contracts.flatMap((contract) => (contract[key] ?? []).map(({ name }) => name)))
}

function undeclared(
  kind: string,
  name: string,
  known: Iterable<string>,
  path: (string | number)[],
  report: Report,
): void {
  report(path, `the ${kind} "${name}" is not declared`, suggestName(name, known))
}

function checkTools(contract: CompiledContract, tools: ReadonlySet<string>, report: Report): void {
  contract.forbids_after?.forEach((tool, index) => {
    if (!tools.has(tool)) undeclared('tool', tool, tools, ['forbids_after', index], report)
  })
  contract.preconditions?.forEach((precondition, index) => {
    if (!('requires_prior_tool' in precondition)) return
    const tool = precondition.requires_prior_tool
    const path = ['preconditions', index, 'requires_prior_tool']
    if (!tools.has(tool)) undeclared('tool', tool, tools, path, report)
    if (tool === contract.tool)
      report(path, 'the tool requires itself first, so it can never be called', 'remove this precondition')
  })
}

function checkBindings(contract: CompiledContract, bindings: ReadonlySet<string>, report: Report): void {
  const check = (ref: string | undefined, path: (string | number)[]) => {
    if (ref !== undefined && !bindings.has(ref)) undeclared('binding', ref, bindings, path, report)
  }
  contract.refs?.forEach(({ ref }, index) => {
    check(ref, ['refs', index, 'ref'])
  })
  const lists: [readonly Invariant[] | undefined, (string | number)[]][] = [
    [contract.argument_value_invariants, ['argument_value_invariants']],
    [contract.assertions?.input_invariants, ['assertions', 'input_invariants']],
    [contract.assertions?.output_invariants, ['assertions', 'output_invariants']],
  ]
  for (const [list, at] of lists) {
    list?.forEach(({ ref }, index) => {
      check(ref, [...at, index, 'ref'])
    })
  }
}

function checkEnvelopes(contract: CompiledContract, envelopes: ReadonlySet<string>, report: Report): void {
  contract.envelopes?.forEach(({ name }, index) => {
    if (!envelopes.has(name)) undeclared('envelope', name, envelopes, ['envelopes', index, 'name'], report)
  })
}

function checkPhases(contract: CompiledContract, graph: PhaseGraph | null, report: Report): void {
  const { valid_in_phases: valid = [], advances_to: target } = contract.transitions ?? {}
  const names = graph?.names ?? new Set<string>()
  valid.forEach((phase, index) => {
    if (!names.has(phase)) undeclared('phase', phase, names, ['transitions', 'valid_in_phases', index], report)
  })
  if (target !== undefined && !names.has(target)) {
    undeclared('phase', target, names, ['transitions', 'advances_to'], report)
  }
}

function checkRepeatedNames(contract: CompiledContract, report: Report): void {
  for (const key of ['binds', 'establishes', 'aggregates'] as const) {
    const seen = new Set<string>()
    contract[key]?.forEach(({ name }, index) => {
      if (FORBIDDEN_KEYS.has(name)) report([key, index, 'name'], `"${name}" is a reserved name`, 'choose another name')
      if (seen.has(name)) {
        report([key, index, 'name'], `"${name}" occurs twice under ${key}`, FIXES.repeated)
      }
      seen.add(name)
    })
  }
}

const IRREVERSIBLE: ReadonlySet<SideEffect> = new Set(['destructive', 'admin', 'financial'])

function checkSideEffect(contract: CompiledContract, report: Report): void {
  const effect = contract.side_effect
  const irreversible = IRREVERSIBLE.has(effect)
  if (irreversible && contract.evidence_class === 'ack_only') {
    const fix = 'use `local_transaction` or `unverifiable`'
    report(['evidence_class'], `\`evidence_class: ack_only\` is too weak for \`side_effect: ${effect}\``, fix)
  }
  const checkpoints = Array.isArray(contract.checkpoint) ? contract.checkpoint : [contract.checkpoint ?? []].flat()
  checkpoints.forEach(({ on_timeout: onTimeout, timeout_seconds: seconds }, index) => {
    if (irreversible && onTimeout === 'allow') {
      const message = `\`on_timeout: allow\` is not permitted with \`side_effect: ${effect}\``
      report(['checkpoint', index, 'on_timeout'], message, 'use `on_timeout: deny`')
    }
    if (seconds < LIMITS.checkpointTimeoutMinSeconds || seconds > LIMITS.checkpointTimeoutMaxSeconds) {
      const range = `${LIMITS.checkpointTimeoutMinSeconds} to ${LIMITS.checkpointTimeoutMaxSeconds} seconds`
      report(['checkpoint', index, 'timeout_seconds'], 'the timeout is out of range', `use ${range}`)
    }
  })
}

/** One name is one aggregate: contracts may share it, but must then use the same function. */
function checkAggregates(contracts: readonly CompiledContract[], reportTo: ReportTo): void {
  const functions = new Map<string, string>()
  contracts.forEach((contract, index) => {
    contract.aggregates?.forEach((aggregate, item) => {
      const known = functions.get(aggregate.name)
      functions.set(aggregate.name, known ?? aggregate.function)
      if (known === undefined || known === aggregate.function) return
      const message = `the aggregate "${aggregate.name}" is a ${known} in another contract`
      reportTo(contract.tool, index)(['aggregates', item, 'function'], message, 'use the same function or another name')
    })
  })
}
