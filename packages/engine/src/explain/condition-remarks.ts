import type { CompiledContract, CompiledSession, Condition } from '@countersign/protocol'
import { labelOf } from '@countersign/protocol'
import { type ArgumentFacts, argumentFacts, conditionsOf } from '../contract/when/conditional-rules.js'
import { compilePath } from '../json/json-path.js'
import { describeCondition } from './condition-words.js'
import type { PlanRemark } from './plan-remark.js'

interface Around {
  readonly byTool: ReadonlyMap<string, CompiledContract>
  readonly session: CompiledSession['session']
}

type Check = (contract: CompiledContract, around: Around) => PlanRemark[]

/** Makes a check of one condition into one of a contract. */
const each =
  (
    code: string,
    find: (condition: Condition, contract: CompiledContract, around: Around, rule: string) => string | null,
  ): Check =>
  (contract, around) =>
    conditionsOf(contract).flatMap(({ at, when }) =>
      when.flatMap((condition) => {
        const message = find(condition, contract, around, String(at[0]))
        return message === null ? [] : [{ tool: contract.tool, code, message: `${contract.tool}: ${message}` }]
      }),
    )

/** Null where the path may find several values, or the schema says nothing of it. */
function factsOf({ path }: Condition, contract: CompiledContract): ArgumentFacts | null {
  const compiled = path === undefined ? null : compilePath(path)
  if (compiled === null || !compiled.ok || compiled.path.steps === null) return null
  return argumentFacts(contract.arguments, compiled.path.steps)
}

const POSITIVE = ['equals', 'one_of', 'regex', 'starts_with', 'ends_with', 'contains'] as const

/** Open text, of which the model chooses the spelling: another one gets around the rule. */
const avoidable = each('condition_avoidable', (condition, contract, _, rule) => {
  if (condition.path === undefined || rule === 'checkpoint') return null
  if (!POSITIVE.some((operator) => condition[operator] !== undefined)) return null
  const isText = [condition.equals, ...(condition.one_of ?? [])].some((value) => typeof value === 'string')
  const isCompared = condition.equals !== undefined || condition.one_of !== undefined
  if (isCompared && !isText) return null
  const facts = factsOf(condition, contract)
  if (facts !== null && facts.values !== null) return null
  return `${condition.path} is open text, so that another spelling gets around “${describeCondition(condition)}”: list its values in the schema, or turn the condition round`
})

const alwaysHolds = each('always_holds', (condition, contract) => {
  const facts = factsOf(condition, contract)
  if (facts === null || !facts.isRequired) return null
  const operators = Object.keys(condition).filter((key) => key !== 'path' && key !== 'message')
  const isPresence = condition.exists === true && operators.length === 1
  const isListed = Array.isArray(condition.one_of) && operators.length === 1 && isSubset(facts, condition.one_of)
  return isPresence || isListed ? `“${describeCondition(condition)}” always holds by its schema` : null
})

const isSubset = ({ values }: ArgumentFacts, list: readonly unknown[]): boolean =>
  values?.every((value) => list.includes(value)) ?? false

const adders = ({ byTool }: Around, label: string): string[] =>
  [...byTool.values()]
    .filter(({ labels }) => labels?.adds?.some((item) => labelOf(item) === label))
    .map(({ tool }) => tool)

const neverAdded = each('label_never_added', ({ label }, _, around) =>
  label === undefined || label === 'delegated' || adders(around, label).length > 0
    ? null
    : `no tool adds the label ${label}: only the program or a handoff can`,
)

const liftedByLabel = each('label_lifts_rule', ({ label, exists }, _, around, rule) => {
  if (label === undefined || exists !== false || rule === 'checkpoint') return null
  const [tool] = adders(around, label)
  return tool === undefined ? null : `a call of ${tool} lifts a rule under ${rule}, by the label ${label}`
})

const notAsked = each('not_asked_when_missing', (condition, contract, _, rule) => {
  if (rule !== 'checkpoint' || condition.path === undefined || condition.exists === false) return null
  const [list] = /^\$(?:\.\w+)+(?=\[\*\])/.exec(condition.path) ?? []
  const facts = factsOf(list === undefined ? condition : { path: list }, contract)
  if (facts === null) return null
  const path = list ?? condition.path
  if (!facts.isRequired) return `no person is asked about a call without ${path}: require it in the schema`
  const isTyped = facts.type !== undefined || facts.values !== null
  if (isTyped || (list === undefined && condition.equals === undefined && condition.one_of === undefined)) return null
  return `no person is asked where ${path} is of another type: give its type in the schema`
})

export const CONDITION_CHECKS: readonly Check[] = [avoidable, alwaysHolds, neverAdded, liftedByLabel, notAsked]
