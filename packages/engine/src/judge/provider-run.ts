import { type JsonObject, LIMITS, type Opening, type ProviderCall } from '@countersign/protocol'
import type { Plan, PreparedContract } from '../contract/plan.js'
import { isVersionOf } from '../contract/tool-version.js'
import type { Scene } from '../contract/when/condition.js'
import { saltedHash } from '../json/hash.js'
import type { ProviderRun } from '../response/tool-call.js'
import { keyCount } from '../state/kept-values.js'
import type { SessionState } from '../state/state.js'
import { addCall, copyOfTally, EMPTY_TALLY, type OpenTally, type Tally } from '../state/tally.js'
import { witnessesOf } from './call-effects.js'
import type { Proposal } from './proposal.js'
import { type Added, type Amounts, amountsOf, totalWith } from './rules/amounts.js'
import { keysOf } from './rules/call-keys.js'
import { type Draw, drawsOf, sharedWith } from './rules/draws.js'
import { NO_NEW_KEYS, newKeys } from './rules/keys.js'
import { consumedBy, rerunsOf } from './rules/order.js'
import { applicable, sceneOf, unlessFailing } from './rules/scene.js'

/** What the provider ran by itself, for the ledger, and what it narrows for the calls of the same response. */
export interface CountedRuns {
  readonly calls: readonly ProviderCall[]
  readonly tally: Tally
  /** What they took of limits that sessions share. */
  readonly draws: readonly Draw[]
}

export const NO_RUNS: CountedRuns = { calls: [], tally: EMPTY_TALLY, draws: [] }

/** Nothing can stop these calls any more. They count for everything that narrows, and open nothing. */
export function countProviderRuns(proposal: Proposal): CountedRuns {
  const { response, salt } = proposal
  const tally = copyOfTally(EMPTY_TALLY)
  const calls: ProviderCall[] = []
  const draws: Draw[] = []
  for (const run of response.providerRun) {
    const hash = run.arguments === null ? null : saltedHash(salt, run.arguments)
    const counted = countRun(proposal, run, hash, tally)
    if (counted === null) continue
    calls.push(counted.call)
    draws.push(...counted.draws)
  }
  return { calls, tally, draws }
}

/** Adds a run to the tally; null for what is no use of a tool. */
function countRun(
  proposal: Proposal,
  run: ProviderRun,
  hash: string | null,
  tally: OpenTally,
): { readonly call: ProviderCall; readonly draws: readonly Draw[] } | null {
  const { plan, state } = proposal
  const names = toolNamesOf(run)
  if (names.length === 0) return null
  const scene = sceneOf({ ...proposal, tally, principal: proposal.principal }, run.arguments)
  const contracts = contractsOf(plan, names).map((contract) => applicable(contract, unlessFailing(scene)))
  const labels = labelsOf(contracts).filter((label) => !tally.labels.has(label))
  const amounts: Record<string, string> = {}
  const consumes: Opening[] = []
  const undoes: Opening[] = []
  const before = tally.calls
  for (const contract of contracts) {
    const ran = run.arguments === null ? NOTHING_RAN : effectsOfRun(contract, run.arguments, proposal, tally)
    const aggregates = new Map<string, string>()
    for (const added of ran.added) {
      aggregates.set(added.slot, totalWith(added, state, tally))
      if (added.aggregate.function !== 'max') amounts[added.slot] = added.amount
    }
    consumes.push(...ran.consumes)
    const { tool, provides } = contract
    const witnesses = run.arguments === null ? {} : witnessesOf(provides, run.arguments, proposal.salt)
    const reruns = rerunsOf(provides, witnesses)
    undoes.push(...reruns)
    const { newKeys: keys, consumes: used } = ran
    const counted = { tool, contract, argumentHash: hash ?? '', aggregates, newKeys: keys, consumes: used, reruns }
    addCall(tally, { ...counted, checkpoints: 0, shared: tally.shared }, state)
  }
  const tools = contracts.map(({ tool }) => tool)
  const draws = drawsOfRun(proposal, { tools, names }, run.arguments, scene)
  // It is one call, however many contracts cover it.
  tally.calls = before + 1
  tally.shared = sharedWith(tally.shared, draws)
  const call: ProviderCall = {
    call_id: run.id,
    tool_name: tools[0] ?? names[0] ?? '',
    tool_names: tools,
    argument_hash: hash,
    adds_labels: labels,
    amounts,
    ...(consumes.length > 0 && { consumes }),
    ...(undoes.length > 0 && { undoes }),
  }
  return { call, draws }
}

interface RunEffects {
  readonly added: Amounts['added']
  readonly newKeys: ReadonlyMap<string, string>
  readonly consumes: readonly Opening[]
}

const NOTHING_RAN: RunEffects = { added: [], newKeys: NO_NEW_KEYS, consumes: [] }

/** The call has happened. */
function effectsOfRun(
  contract: PreparedContract,
  args: JsonObject,
  { state, salt }: Proposal,
  tally: Tally,
): RunEffects {
  const keys = keysOf(contract, args, salt)
  const { added } = amountsOf(contract, args, keys)
  const isKept = ({ aggregate: { name, key }, slot }: Added) =>
    key === null || Object.hasOwn(state.aggregates, slot) || tally.aggregates.has(slot) || hasRoom(name, state, tally)
  return {
    // Calls with one more key are blocked already, so that its sum decides nothing.
    added: added.filter(isKept),
    newKeys: newKeys(
      contract.keeps.filter(({ kind, name }) => kind === 'aggregates' && hasRoom(name, state, tally)),
      keys,
      state,
    ),
    consumes: consumedBy(contract, args, salt),
  }
}

/** What a run takes of limits that sessions share: of each once, whatever contracts cover it. */
function drawsOfRun(
  { plan, shared }: Proposal,
  { tools, names }: { readonly tools: readonly string[]; readonly names: readonly string[] },
  args: JsonObject | null,
  scene: Scene,
): Draw[] {
  if (shared === undefined || plan.shared === null) return []
  const found = new Map<string, Draw>()
  for (const tool of tools.length === 0 ? names.slice(0, 1) : tools) {
    const { draws } = drawsOf(plan, shared, tool, { args: args ?? {}, scene })
    for (const draw of draws) if (!found.has(draw.id)) found.set(draw.id, draw)
  }
  return [...found.values()]
}

const hasRoom = (name: string, state: SessionState, tally: Tally): boolean =>
  keyCount(state, `aggregates.${name}`) + (tally.newKeys.get(`aggregates.${name}`)?.size ?? 0) < LIMITS.keysPerName

const labelsOf = (contracts: readonly PreparedContract[]): string[] =>
  [...new Set(contracts.flatMap(({ addsLabels }) => addsLabels.map(({ label }) => label)))].sort()

/** Every contract that covers the tool, by its own name or by that of a version such as `web_search_20250305`. */
function contractsOf(plan: Plan, names: readonly string[]): PreparedContract[] {
  const found: PreparedContract[] = []
  for (const [tool, contract] of plan.contracts) {
    if (names.some((name) => isVersionOf(tool, name))) found.push(contract)
  }
  return found
}

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
