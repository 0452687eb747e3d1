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
import { checkAsks } from './check-ask.js'
import { checkConditions } from './check-when.js'
import { FIXES } from './report/fixes.js'
import type { Report, ReportTo } from './report/problem.js'

/** Reports every name that is used but not declared, and what a contract's side effect does not permit. */
export function checkReferences(compiled: CompiledSession, graph: PhaseGraph | null, reportTo: ReportTo): void {
  const declared = {
    tools: new Set(compiled.contracts.map(({ tool }) => tool)),
    bindings: namesOf(compiled.contracts, 'binds'),
    envelopes: namesOf(compiled.contracts, 'establishes'),
  }
  const names = (key: 'binds' | 'establishes'): Declared => ({
    kind: key === 'binds' ? 'binding' : 'envelope',
    names: key === 'binds' ? declared.bindings : declared.envelopes,
    keyed: keyedNames(compiled.contracts, key),
  })
  const bindings = names('binds')
  const envelopes = names('establishes')
  for (const [index, contract] of compiled.contracts.entries()) {
    const report = reportTo(contract.tool, index)
    checkTools(contract, declared.tools, report)
    checkBindings(contract, bindings, report)
    checkEnvelopes(contract, envelopes, report)
    checkKept(contract, 'binds', bindings, report)
    checkKept(contract, 'establishes', envelopes, report)
    checkPhases(contract, graph, report)
    checkRepeatedNames(contract, report)
    checkSideEffect(contract, report)
    if (contract.labels?.sticks_to !== undefined && (contract.labels.adds ?? []).length === 0) {
      report(['labels', 'sticks_to'], 'the call adds no label that could stick', 'add `adds`, or remove `sticks_to`')
    }
  }
  checkAggregates(compiled.contracts, reportTo)
  checkAsks(compiled, reportTo)
  checkConditions(compiled, bindings, reportTo)
  const report = reportTo(null, null)
  for (const tool of Object.keys(compiled.session.session_limits?.max_calls_per_tool ?? {})) {
    if (!declared.tools.has(tool))
      undeclared('tool', tool, declared.tools, ['session_limits', 'max_calls_per_tool', tool], report)
  }
  for (const [kind, names, most] of [
    ['bindings', declared.bindings, LIMITS.bindingsPerSession],
    ['envelopes', declared.envelopes, LIMITS.bindingsPerSession],
    ['aggregates', namesOf(compiled.contracts, 'aggregates'), LIMITS.aggregatesPerSession],
  ] as const) {
    if (names.size > most) {
      report([], `the contracts declare ${names.size} ${kind}; the limit is ${most}`, 'declare fewer')
    }
  }
}

function namesOf(contracts: readonly CompiledContract[], key: 'binds' | 'establishes' | 'aggregates'): Set<string> {
  return new Set(contracts.flatMap((contract) => (contract[key] ?? []).map(({ name }) => name)))
}

function undeclared(
  kind: string,
  name: string,
  known: Iterable<string>,
  path: (string | number)[],
  report: Report,
): void {
  report(path, `the ${kind} "${name}" is not declared`, () => suggestName(name, known))
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

/** Names of one kind that contracts declare, and which of them are kept per key. */
interface Declared {
  readonly kind: 'binding' | 'envelope'
  readonly names: ReadonlySet<string>
  readonly keyed: ReadonlySet<string>
}

const keyedNames = (contracts: readonly CompiledContract[], rule: 'binds' | 'establishes'): ReadonlySet<string> =>
  new Set(contracts.flatMap((contract) => (contract[rule] ?? []).filter(({ key }) => key !== undefined)).map(nameOf))

const nameOf = ({ name }: { readonly name: string }): string => name

/** Rules that set a name and rules that use it must agree on whether it has a key. */
function checkKey(name: string, key: string | undefined, declared: Declared, at: (string | number)[], report: Report) {
  const { kind, keyed } = declared
  if (keyed.has(name) === (key !== undefined)) return
  if (key === undefined) {
    report(at, `the ${kind} "${name}" is kept per key, and none is given here`, 'add `key`, such as key: $.order_id')
  } else {
    const fix = `remove \`key\` here, or add one where the ${kind} is set`
    report([...at, 'key'], `the ${kind} "${name}" is not kept per key`, fix)
  }
}

function checkKept(contract: CompiledContract, rule: 'binds' | 'establishes', declared: Declared, report: Report) {
  contract[rule]?.forEach(({ name, key }, index) => {
    if (key === undefined) checkKey(name, key, declared, [rule, index], report)
  })
}

function checkBindings(contract: CompiledContract, bindings: Declared, report: Report): void {
  const check = (ref: string | undefined, path: (string | number)[]) => {
    if (ref !== undefined && !bindings.names.has(ref)) undeclared('binding', ref, bindings.names, path, report)
    else if (ref !== undefined && bindings.keyed.has(ref)) {
      report(path, `the binding "${ref}" is kept per key, which \`ref\` cannot name`, 'use `refs` with a `key`')
    }
  }
  contract.refs?.forEach(({ ref, key }, index) => {
    if (!bindings.names.has(ref)) undeclared('binding', ref, bindings.names, ['refs', index, 'ref'], report)
    else checkKey(ref, key, bindings, ['refs', index], report)
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

function checkEnvelopes(contract: CompiledContract, envelopes: Declared, report: Report): void {
  const { names } = envelopes
  contract.envelopes?.forEach(({ name, key }, index) => {
    if (!names.has(name)) undeclared('envelope', name, names, ['envelopes', index, 'name'], report)
    else checkKey(name, key, envelopes, ['envelopes', index], report)
  })
  contract.aggregates?.forEach((aggregate, index) => {
    for (const operator of ['lte', 'lt'] as const) {
      const bound = aggregate[operator]
      if (typeof bound !== 'object') continue
      const at = ['aggregates', index, operator, 'ref']
      if (!names.has(bound.ref)) undeclared('envelope', bound.ref, names, at, report)
      else if (envelopes.keyed.has(bound.ref) && aggregate.key === undefined) {
        const message = `the envelope "${bound.ref}" is kept per key, and the aggregate has none`
        report(at, message, 'add `key` to the aggregate, such as key: $.order_id')
      }
    }
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

/** One name is one aggregate: contracts may share it, but must then use the same function, and all a key or none. */
function checkAggregates(contracts: readonly CompiledContract[], reportTo: ReportTo): void {
  const aggregates = new Map<string, NonNullable<CompiledContract['aggregates']>[number]>()
  contracts.forEach((contract, index) => {
    contract.aggregates?.forEach((aggregate, item) => {
      const known = aggregates.get(aggregate.name)
      aggregates.set(aggregate.name, known ?? aggregate)
      if (known === undefined) return
      const report = reportTo(contract.tool, index)
      if (known.function !== aggregate.function) {
        const message = `the aggregate "${aggregate.name}" is a ${known.function} in another contract`
        report(['aggregates', item, 'function'], message, 'use the same function or another name')
      }
      if ((known.key === undefined) === (aggregate.key === undefined)) return
      const message = `the aggregate "${aggregate.name}" is kept per key in one contract and not in another`
      report(['aggregates', item], message, 'give it a `key` everywhere, or use another name')
    })
  })
}
