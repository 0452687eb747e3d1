import type { JsonObject, ProviderCall } from '@countersign/protocol'
import type { Plan, PreparedContract } from '../contract/plan.js'
import { saltedHash } from '../json/hash.js'
import type { ProviderRun } from '../response/tool-call.js'
import { EMPTY_TALLY, type Tally, tallyCall } from '../state/tally.js'
import { JUDGING_STEPS, unlessTooCostly, withinJudgingBudget } from '../text/judging-budget.js'
import type { Proposal } from './proposal.js'
import { type Amounts, amountsOf, totalWith } from './rules/amounts.js'

/** What the provider ran by itself, for the ledger, and what it narrows for the calls of the same response. */
export interface CountedRuns {
  readonly calls: readonly ProviderCall[]
  readonly tally: Tally
}

export const NO_RUNS: CountedRuns = { calls: [], tally: EMPTY_TALLY }

/** Nothing can stop these calls any more. They count for everything that narrows, and open nothing. */
export function countProviderRuns(proposal: Proposal): CountedRuns {
  const { response, salt } = proposal
  const hashes = response.providerRun.map(({ arguments: args }) => (args === null ? null : saltedHash(salt, args)))
  return withinJudgingBudget(JUDGING_STEPS.whole / 4, () => countRuns(proposal, hashes))
}

function countRuns({ plan, state, response }: Proposal, hashes: readonly (string | null)[]): CountedRuns {
  let tally = EMPTY_TALLY
  const calls: ProviderCall[] = []
  for (const [index, run] of response.providerRun.entries()) {
    const names = toolNamesOf(run)
    if (names.length === 0) continue
    const contracts = contractsOf(plan, names)
    const argumentHash = hashes[index] ?? null
    const amounts: Record<string, string> = {}
    const before = tally.calls
    for (const contract of contracts) {
      const added = run.arguments === null ? [] : addedBy(contract, run.arguments)
      const aggregates = new Map<string, string>()
      for (const { aggregate, amount } of added) {
        aggregates.set(aggregate.name, totalWith(aggregate, amount, state, tally))
        if (aggregate.function !== 'max') amounts[aggregate.name] = amount
      }
      const counted = { tool: contract.tool, contract, argumentHash: argumentHash ?? '', aggregates, checkpoints: 0 }
      tally = tallyCall(tally, counted, state)
    }
    // It is one call, however many contracts cover it.
    tally = { ...tally, calls: before + 1 }
    calls.push({
      call_id: run.id,
      tool_name: contracts[0]?.tool ?? names[0] ?? '',
      tool_names: contracts.map(({ tool }) => tool),
      argument_hash: argumentHash,
      adds_labels: labelsOf(contracts),
      amounts,
    })
  }
  return { calls, tally }
}

/** The call has happened. An amount that is too costly to find may be any, so it takes all that the bound allows. */
const addedBy = (contract: PreparedContract, args: JsonObject): Amounts['added'] =>
  unlessTooCostly(
    () => amountsOf(contract, args).added,
    () => contract.aggregates.map((aggregate) => ({ aggregate, amount: aggregate.lte ?? aggregate.lt ?? '0' })),
  )

const labelsOf = (contracts: readonly PreparedContract[]): string[] =>
  [...new Set(contracts.flatMap(({ definition }) => definition.labels?.adds ?? []))].sort()

/** Every contract that covers the tool, by its own name or by that of a version such as `web_search_20250305`. */
function contractsOf(plan: Plan, names: readonly string[]): PreparedContract[] {
  const found: PreparedContract[] = []
  for (const [tool, contract] of plan.contracts) {
    if (names.some((name) => tool === name || isVersionOf(tool, name))) found.push(contract)
  }
  return found
}

const VERSION = /^(_preview)?(_\d+)*$/

const isVersionOf = (tool: string, name: string): boolean =>
  tool.startsWith(name) && VERSION.test(tool.slice(name.length))

/** The names by which a contract can mean the tool, the narrower first; none for what is no use of a tool. */
function toolNamesOf({ type, name }: ProviderRun): string[] {
  const own = name === null ? [] : [name]
  if (type === 'mcp_call') return [...own, 'mcp']
  if (type === 'mcp_tool_use') return [...own, 'mcp_toolset']
  if (type === 'program') return ['programmatic_tool_calling']
  // Listing the tools of a server, or asking for an approval, uses none of them.
  if (type.startsWith('mcp_')) return []
  if (type.endsWith('_call')) return [type.slice(0, -'_call'.length)]
  // One offered tool, used as several: `bash_code_execution`, `text_editor_code_execution`.
  return own.length > 0 && name?.endsWith('_code_execution') ? [...own, 'code_execution'] : own
}
