import type {
  Block,
  CheckpointTrigger,
  ContractFailure,
  Decision,
  Flows,
  Gate,
  JsonObject,
  JsonValue,
  LedgerBody,
  LedgerCall,
  UnmatchedPolicy,
  Usage,
} from '@countersign/protocol'
import type { ProposalFacts } from './apply-proposal.js'
import { callRecord, effectsOf, type Held, resourcesOf } from './call-effects.js'
import { checkInvariants } from './check-invariant.js'
import { triggeredCheckpoints } from './checkpoint.js'
import type { ResourceMode } from './conflicts.js'
import { addDecimals } from './decimal.js'
import { saltedHash, sha256Hex } from './hash.js'
import { climb } from './ladder.js'
import type { Plan, PreparedContract } from './plan.js'
import { costOf } from './pricing.js'
import type { ReadResponse, ToolCall } from './read-calls.js'
import { RegexTooCostlyError } from './regex.js'
import { type ResponseView, viewResponse } from './response-view.js'
import { amountsOf, NO_AMOUNTS, totalWith } from './rules/amounts.js'
import type { JudgedCall, JudgedResponse } from './rules/rule.js'
import { judgeSources, type SourceContext, type SourceViolation } from './rules/sources.js'
import type { SessionState } from './state.js'
import { addToTally, EMPTY_TALLY, type Tally } from './tally.js'

export interface Proposal {
  readonly plan: Plan
  readonly state: SessionState
  readonly response: ReadResponse
  readonly gate: Gate
  readonly unmatchedPolicy: UnmatchedPolicy
  readonly principal?: JsonValue | undefined
  readonly agent: string | null
  readonly salt: string
  readonly nowMs: number
  /** The tools that preflight left in the request; null where nothing was narrowed. */
  readonly offered: readonly string[] | null
  readonly toolless: boolean
  /** From `judgeInputInvariants`, by tool. */
  readonly inputFailures?: ReadonlyMap<string, readonly ContractFailure[]> | undefined
  readonly flows?: Flows | undefined
  readonly heldResources?: ((key: string, mode: ResourceMode) => string | null) | undefined
  readonly ids: { readonly sessionId: string; readonly proposalId: string; pendingCallId(index: number): string }
  readonly provider?: string | null | undefined
  readonly model?: string | null | undefined
  readonly usage?: Usage | null | undefined
  /** Of the response as it came; without it the hash of what was read from it. */
  readonly responseHash?: string | undefined
  /** `reported` where no server keeps the session: then no better evidence can be had. */
  readonly evidence?: 'contract' | 'reported' | undefined
  /** False in shadow mode, where nobody is asked. */
  readonly asks?: boolean | undefined
  /**
   * False where nobody keeps what is allowed, and no wrapper runs it: arguments are then hashed for the rules that
   * compare them and for whoever is told of a block, since two hashes are a sixth of a judgement.
   */
  readonly keepsHashes?: boolean | undefined
}

export interface Verdict {
  readonly outcome: LedgerBody<'proposal'>['outcome']
  readonly decisions: Decision[]
  readonly cost: string
  readonly event: ProposalFacts
  /** What each registered call holds, by its pending call id. */
  readonly resources: ReadonlyMap<string, readonly Held[]>
  /** The session's circuit breaker has tripped: it must be killed. */
  readonly breaker: boolean
}

/** Judges every call of a response. All rules run for each; what narrows sees the calls allowed before it. */
export function evaluateProposal(proposal: Proposal): Verdict {
  const { state, response, gate } = proposal
  const cost = costOfResponse(proposal)
  const shared = shareResponse(proposal)
  let tally = EMPTY_TALLY
  const judged: JudgedOutcome[] = []
  const calls = callsToJudge(response)
  const spent = cost === '0' ? state.actualCost : addDecimals(state.actualCost, cost)
  for (const call of calls) {
    const outcome = judgeReadable(proposal, shared, call, tally, spent)
    judged.push(outcome)
    const isFollowed = judged.length < calls.length
    if (isFollowed && outcome.blocks.length === 0) tally = tallyWith(tally, outcome, state)
  }
  let blocked = 0
  for (const { blocks } of judged) if (blocks.length > 0) blocked++
  const outcome = outcomeOf(judged.length, blocked, gate)
  const registers = outcome === 'allowed' || outcome === 'partial'
  const isHashed = proposal.keepsHashes !== false || blocked > 0 || judged.some(needsPerson)
  const decisions: Decision[] = []
  const records: LedgerCall[] = []
  let resources = NOTHING_HELD
  for (const one of judged) {
    const { decision, record, holds } = settle(proposal, one, registers, isHashed)
    decisions.push(decision)
    records.push(record)
    if (holds.length > 0) resources = new Map(resources).set(one.pendingCallId, holds)
  }
  return {
    outcome,
    decisions,
    cost,
    event: {
      proposal_id: proposal.ids.proposalId,
      response_hash: proposal.responseHash ?? hashOfReading(proposal.salt, response, judged),
      gate,
      model: proposal.model ?? response.model,
      usage: proposal.usage ?? response.usage,
      cost,
      outcome,
      calls: records,
      provider_run: response.providerRun.map(({ type, name }) => name ?? type),
    },
    resources,
    breaker: trips(proposal, outcome),
  }
}

const NOTHING_HELD: Verdict['resources'] = new Map()

interface JudgedOutcome {
  readonly call: ToolCall
  readonly contract: PreparedContract | null
  readonly argumentHash: string | null
  readonly pendingCallId: string
  readonly blocks: readonly Block[]
  readonly checkpoints: readonly CheckpointTrigger[]
  readonly amounts: JudgedCall['amounts']
}

/** Of what was read: the calls by the hashes of their arguments, and what stood beside them. */
function hashOfReading(
  salt: string,
  { finishReason, content }: ReadResponse,
  judged: readonly JudgedOutcome[],
): string {
  const calls = judged.map(({ call, argumentHash }) => [call.id, call.name, argumentHash ?? call.argumentsText])
  return sha256Hex(`${salt.length}:${salt}:${JSON.stringify([finishReason, content, calls])}`)
}

function tallyWith(tally: Tally, allowed: JudgedOutcome, state: SessionState): Tally {
  const { call, contract, argumentHash, amounts, checkpoints } = allowed
  const aggregates = new Map(
    amounts.added.map(({ aggregate, amount }) => [aggregate.name, totalWith(aggregate, amount, state, tally)]),
  )
  const counted = {
    tool: call.name,
    contract,
    argumentHash: argumentHash ?? '',
    aggregates,
    checkpoints: checkpoints.length,
  }
  return addToTally(tally, counted, state)
}

/** A response that cannot be read and shows no calls still gets a verdict: it stands for one call without a name. */
function callsToJudge(response: ReadResponse): readonly ToolCall[] {
  if (response.calls.length > 0 || response.problems.length === 0) return response.calls
  const problem = 'the response could not be read'
  return [{ id: '', name: '', index: 0, choice: 0, kind: 'function', argumentsText: '', arguments: null, problem }]
}

/** A text that a pattern of the contract cannot be asked about blocks the call that brings it, and fails nothing else. */
function judgeReadable(
  proposal: Proposal,
  response: JudgedResponse,
  call: ToolCall,
  tally: Tally,
  spent: string,
): JudgedOutcome {
  try {
    return judgeCall(proposal, response, call, tally, spent)
  } catch (error) {
    if (!(error instanceof RegexTooCostlyError)) throw error
    const unreadable = { ...call, arguments: null, problem: error.message }
    return judgeCall(proposal, response, unreadable, tally, spent)
  }
}

function judgeCall(
  proposal: Proposal,
  response: JudgedResponse,
  call: ToolCall,
  tally: Tally,
  spent: string,
): JudgedOutcome {
  const { plan, state, salt } = proposal
  const contract = plan.contracts.get(call.name) ?? null
  const args = call.arguments
  const pendingCallId = proposal.ids.pendingCallId(call.index)
  const isCompared = plan.session.session_limits?.loop_detection !== undefined
  const isHashed = args !== null && (isCompared || proposal.keepsHashes !== false)
  const argumentHash = isHashed ? saltedHash(salt, args) : null
  const amounts = args === null || contract === null ? NO_AMOUNTS : amountsOf(contract, args)
  const sourceViolations = args === null || contract === null ? [] : violationsOf(proposal, contract, call, args)
  const checkpoints =
    args === null || proposal.asks === false
      ? []
      : triggeredCheckpoints(plan, { tool: call.name, arguments: args, idPrefix: pendingCallId }, sourceViolations)
  const blocks = climb(
    {
      tool: call.name,
      call,
      contract,
      plan,
      state,
      tally,
      unmatchedPolicy: proposal.unmatchedPolicy,
      principal: proposal.principal,
      agent: proposal.agent,
      argumentHash,
      amounts,
      checkpoints: checkpoints.length,
      sourceViolations,
      response,
      salt,
      nowMs: proposal.nowMs,
      spent,
      inputFailures: proposal.inputFailures?.get(call.name) ?? [],
      heldResources: proposal.heldResources ?? null,
    },
    proposal.offered,
  )
  return { call, contract, argumentHash, pendingCallId, blocks, checkpoints, amounts }
}

function violationsOf(
  { plan, flows }: Proposal,
  contract: PreparedContract,
  call: ToolCall,
  args: JsonObject,
): SourceViolation[] {
  if (contract.sources.length === 0) return []
  const flow = flows?.calls.find((item) => item.call_id === call.id && item.tool === call.name) ?? null
  const context: SourceContext = {
    columnsOf: (tool) => plan.contracts.get(tool)?.definition.columns ?? null,
    isGuarded: (tool) => (plan.contracts.get(tool)?.sources ?? []).length > 0,
  }
  return judgeSources(contract.sources, { arguments: args, flow }, context)
}

function shareResponse({ plan, response, toolless }: Proposal): JudgedResponse {
  let view: ResponseView | undefined
  const viewOnce = () => {
    view ??= viewResponse(response)
    return view
  }
  let failures: Map<string, readonly ContractFailure[]> | undefined
  return {
    read: response,
    toolless,
    targets: targetsOf(plan, response),
    view: viewOnce,
    outputFailures(contract) {
      failures ??= new Map()
      const known = failures.get(contract.tool)
      if (known !== undefined) return known
      const found = checkInvariants(contract.outputInvariants, viewOnce(), (path) => path)
      failures.set(contract.tool, found)
      return found
    },
  }
}

const NO_TARGETS: ReadonlySet<string> = new Set()

function targetsOf(plan: Plan, { calls }: ReadResponse): ReadonlySet<string> {
  let targets: Set<string> | undefined
  for (const { name } of calls) {
    const target = plan.contracts.get(name)?.definition.transitions?.advances_to
    if (target === undefined) continue
    targets ??= new Set()
    targets.add(target)
  }
  return targets ?? NO_TARGETS
}

/** Where usage or price is unknown, a response is taken to have cost as much as the dearest so far. */
function costOfResponse({ plan, state, response, provider, model, usage }: Proposal): string {
  if (plan.session.pricing === undefined) return '0'
  const price = plan.priceOf(provider ?? null, model ?? response.model)
  const tokens = usage ?? response.usage
  return price === null || tokens === null ? state.highestCost : costOf(price, tokens)
}

function outcomeOf(calls: number, blocked: number, gate: Gate): Verdict['outcome'] {
  if (calls === 0) return 'no_calls'
  if (blocked === 0) return 'allowed'
  return gate === 'reject_all' || blocked === calls ? 'blocked' : 'partial'
}

function trips({ plan, state }: Proposal, outcome: Verdict['outcome']): boolean {
  const most = plan.session.session_limits?.circuit_breaker?.consecutive_blocks
  if (most === undefined || (outcome !== 'blocked' && outcome !== 'partial')) return false
  return state.consecutiveBlocks + 1 >= most
}

interface Settled {
  readonly decision: Decision
  readonly record: LedgerCall
  readonly holds: readonly Held[]
}

const needsPerson = ({ checkpoints }: JudgedOutcome): boolean => checkpoints.length > 0

/** Stands where a hash would that nobody can ask for. */
const NOT_HASHED = ''

function hashOfArguments({ salt }: Proposal, { call, argumentHash }: JudgedOutcome, isHashed: boolean): string | null {
  if (argumentHash !== null || call.arguments === null) return argumentHash
  return isHashed ? saltedHash(salt, call.arguments) : NOT_HASHED
}

/** Turns the judgement of one call into its decision on the wire and its record in the ledger. */
function settle(proposal: Proposal, judged: JudgedOutcome, registers: boolean, isHashed: boolean): Settled {
  const { call, contract, blocks, checkpoints } = judged
  const isAllowed = blocks.length === 0
  const isRegistered = isAllowed && registers
  const pendingCallId = isRegistered ? judged.pendingCallId : null
  const level = proposal.evidence === 'reported' ? 'reported' : (contract?.commitRequirement ?? 'executed')
  const decision: Decision = {
    index: call.index,
    call_id: call.id,
    tool_name: call.name,
    decision: isAllowed ? 'allow' : 'block',
    pending_call_id: pendingCallId,
    idempotency_key: isRegistered && isHashed ? sha256Hex(`${proposal.ids.sessionId}:${judged.pendingCallId}`) : null,
    argument_hash: hashOfArguments(proposal, judged, isHashed),
    reason: blocks[0]?.reason ?? null,
    reasons: [...blocks],
    remedy: isAllowed ? null : [...new Set(blocks.map(({ remedy }) => remedy))].join(' '),
    failures: isAllowed ? [] : blocks.flatMap(({ failures }) => failures),
    contract_file: contract?.file ?? null,
    checkpoint_required: isAllowed && checkpoints.length > 0,
    checkpoints: isAllowed ? [...checkpoints] : [],
    output_paths: isRegistered ? [...(contract?.outputPaths ?? [])] : [],
    commit_requirement: level,
  }
  if (!isRegistered || call.arguments === null) return { decision, record: callRecord(decision), holds: [] }
  const holds = contract === null ? [] : resourcesOf(contract, call.arguments)
  const effects = effectsOf(contract, call.arguments, judged.amounts, { holds, salt: proposal.salt })
  return { decision, record: callRecord(decision, effects), holds }
}
