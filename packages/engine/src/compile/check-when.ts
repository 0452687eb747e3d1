import type { CompiledContract, CompiledSession, Condition } from '@countersign/protocol'
import { answerOf } from '../contract/when/condition.js'
import {
  argumentFacts,
  type ConditionsAt,
  conditionsOf,
  conditionsOfSession,
} from '../contract/when/conditional-rules.js'
import { compilePath } from '../json/json-path.js'
import { closestName, suggestName } from '../text/closest-name.js'
import { prepareWhen } from './prepare-when.js'
import type { Report, ReportTo } from './report/problem.js'

/** What is bound under a name. */
export interface DeclaredBindings {
  readonly names: ReadonlySet<string>
  readonly keyed: ReadonlySet<string>
}

/** Reports conditions that no call can meet, or that name what is not there. */
export function checkConditions(
  { session, contracts }: CompiledSession,
  bindings: DeclaredBindings,
  reportTo: ReportTo,
): void {
  contracts.forEach((contract, index) => {
    const report = reportTo(contract.tool, index)
    for (const rule of conditionsOf(contract)) checkRule(rule, contract, bindings, report)
  })
  const report = reportTo(null, null)
  for (const rule of conditionsOfSession(session)) {
    const limit = rule.at[0] === 'shared_limits' ? session.shared_limits?.[Number(rule.at[1])] : undefined
    const counted = contracts.find(({ tool }) => tool === limit?.tool)
    if (counted === undefined) checkReadsNothing(rule, report)
    checkRule(rule, counted, bindings, report)
  }
}

/** Rules about all tools have no arguments to look at. */
function checkReadsNothing({ at, when }: ConditionsAt, report: Report): void {
  when.forEach(({ path, key }, index) => {
    if (path === undefined && key === undefined) return
    report([...at, index], 'reads arguments', 'name the tool, or put the rule into its contract')
  })
}

function checkRule(
  { at, when }: ConditionsAt,
  contract: CompiledContract | undefined,
  bindings: DeclaredBindings,
  report: Report,
): void {
  when.forEach((condition, index) => {
    const place = [...at, index]
    if (condition.bound !== undefined) checkBound(condition.bound, condition.key, bindings, place, report)
    if (condition.path !== undefined && contract !== undefined) {
      checkAgainstSchema(condition, condition.path, contract, at[0] === 'checkpoint', place, report)
    }
  })
}

function checkBound(
  name: string,
  key: string | undefined,
  { names, keyed }: DeclaredBindings,
  at: readonly (string | number)[],
  report: Report,
): void {
  if (!names.has(name)) {
    report([...at, 'bound'], `the binding "${name}" is not declared`, () => suggestName(name, names))
  } else if (keyed.has(name) && key === undefined) {
    report(at, `the binding "${name}" is kept per key, and none is given here`, 'add `key`, such as key: $.order_id')
  } else if (!keyed.has(name) && key !== undefined) {
    report([...at, 'key'], `the binding "${name}" is not kept per key`, 'remove `key` here, or add one where it is set')
  }
}

/** A checkpoint may have been written before its conditions were looked at: it only asks less than it seems. */
function checkAgainstSchema(
  condition: Condition,
  expression: string,
  contract: CompiledContract,
  isCheckpoint: boolean,
  at: readonly (string | number)[],
  report: Report,
): void {
  const path = compilePath(expression)
  if (!path.ok || path.path.steps === null || isCheckpoint) return
  const { instead, values } = argumentFacts(contract.arguments, path.path.steps)
  if (instead !== null) {
    const name = String(path.path.steps.at(-1))
    report([...at, 'path'], `${expression} cannot exist`, () => suggestName(name, instead))
    return
  }
  if (values === null) return
  const [prepared] = prepareWhen([{ ...condition, path: '$' }], { at, report: () => {} })
  const scene = { principal: undefined, salt: '', hasLabel: () => false, boundTo: () => undefined }
  if (
    prepared === undefined ||
    values.some((value) => answerOf(prepared, { ...scene, arguments: value }) !== 'fails')
  ) {
    return
  }
  const listed = values.slice(0, 8).map((value) => JSON.stringify(value))
  const message = `${expression} is only ${listed.join(' or ')}, so the rule would never apply`
  report(at, message, () => fixFor(condition, values.map(String)))
}

function fixFor({ equals, one_of }: Condition, values: readonly string[]): string {
  const [wanted] = [equals ?? one_of ?? []].flat()
  const closest = typeof wanted === 'string' ? closestName(wanted, values) : null
  return closest === null ? 'use a value that the schema lists' : `did you mean "${closest}"?`
}
