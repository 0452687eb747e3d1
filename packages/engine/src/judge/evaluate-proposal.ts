import type { Decision, Gate, LedgerCall } from '@countersign/protocol'
import { costOf } from '../contract/pricing.js'
import { addDecimals } from '../json/decimal.js'
import { sha256Hex } from '../json/hash.js'
import type { ReadResponse } from '../response/read-response.js'
import type { ToolCall } from '../response/tool-call.js'
import type { SessionState } from '../state/state.js'
import { type Tally, tallyCall } from '../state/tally.js'
import { type NewQuestion, newQuestion } from './asking.js'
import { drawRecords } from './call-effects.js'
import { judgeCall, type LadderResult, responseContext, waits } from './judge-call.js'
import type { Proposal, TakenDraw, Verdict } from './proposal.js'
import { countProviderRuns, NO_RUNS } from './provider-run.js'
import { recordDecision } from './record-decision.js'
import { totalWith } from './rules/amounts.js'
import { costDraws, type Draw, sharedWith } from './rules/draws.js'
import { NO_NEW_KEYS, newKeys } from './rules/keys.js'
import { rerunsOf } from './rules/order.js'
import { tripsOnBlock } from './trips-on-block.js'

/** Judges every call of a response by all rules. Each call sees what the calls allowed before it have narrowed. */
export function evaluateProposal(proposal: Proposal): Verdict {
  const { response, gate } = proposal
  const cost = costOfResponse(proposal)
  const runs = response.providerRun.length === 0 ? NO_RUNS : countProviderRuns(proposal)
  const spends = proposal.shared === undefined ? NO_SPENDS : costDraws(proposal.plan, proposal.shared, cost)
  const results = judgeCalls(proposal, cost, runs.tally, spends)
  let blocked = 0
  let waiting = 0
  for (const result of results) {
    if (result.blocks.length > 0) blocked++
    else if (waits(result)) waiting++
  }
  const outcome = outcomeOf(results.length, blocked + waiting, gate)
  // Of a response that is rejected for another call, nobody is asked anything.
  const asks = waiting > 0 && (gate !== 'reject_all' || blocked === 0)
  const registers = outcome === 'allowed' || outcome === 'partial'
  const isHashed = proposal.keepsHashes !== false || blocked > 0 || results.some(needsPerson)
  const happened = proposal.shared === undefined ? NO_SPENDS : [...spends, ...runs.draws]
  const decisions: Decision[] = []
  const records: LedgerCall[] = []
  const questions: NewQuestion[] = []
  let resources = NOTHING_HELD
  for (const result of results) {
    const question = asks ? questionOf(proposal, result) : null
    if (question !== null) questions.push(question)
    const { decision, record, holds } = recordDecision(proposal, result, { registers, isHashed, question })
    decisions.push(decision)
    records.push(record)
    if (holds.length > 0) resources = new Map(resources).set(result.pendingCallId, holds)
  }
  const response_hash = proposal.responseHash ?? hashOfReading(proposal.salt, response, results)
  return {
    outcome,
    decisions,
    cost,
    event: {
      proposal_id: proposal.ids.proposalId,
      response_hash,
      gate,
      model: proposal.model ?? response.model,
      usage: proposal.usage ?? response.usage,
      cost,
      outcome,
      calls: records,
      provider_run: response.providerRun.map(({ type, name }) => name ?? type),
      ...(runs.calls.length > 0 && { provider_calls: [...runs.calls] }),
      ...(happened.length > 0 && { draws: drawRecords(happened) }),
      ...(outcome === 'allowed' &&
        proposal.state.consecutiveBlocks > 0 && { blocks_before: proposal.state.consecutiveBlocks }),
    },
    resources,
    draws: proposal.shared === undefined ? NO_TAKEN : drawsTaken(happened, registers ? results : [], registers),
    questions,
    breaker: blocked > 0 && trips(proposal, outcome),
  }
}

const NO_SPENDS: readonly Draw[] = []
const NO_TAKEN: readonly TakenDraw[] = []

/** Each limit once: what has happened counts in any case, what the registered calls take must fit. */
function drawsTaken(happened: readonly Draw[], results: readonly LadderResult[], registers: boolean): TakenDraw[] {
  const taken = new Map<string, TakenDraw>()
  const add = (draw: Draw, guarded: boolean) => {
    const before = taken.get(draw.id)
    const amount = before === undefined ? draw.amount : addDecimals(before.amount, draw.amount)
    taken.set(draw.id, { ...draw, amount, guarded: guarded || before?.guarded === true })
  }
  for (const draw of happened) add(draw, registers && draw.limit.counts === 'cost')
  for (const { draws, ...result } of results) if (isAllowed(result)) for (const draw of draws.draws) add(draw, true)
  return [...taken.values()].filter(({ amount }) => amount !== '0').sort((a, b) => (a.id < b.id ? -1 : 1))
}

const NOTHING_HELD: Verdict['resources'] = new Map()

function judgeCalls(proposal: Proposal, cost: string, before: Tally, spends: readonly Draw[]): LadderResult[] {
  const { state, response } = proposal
  const shared = responseContext(proposal)
  const calls = callsToJudge(response)
  const spent = cost === '0' ? state.actualCost : addDecimals(state.actualCost, cost)
  const results: LadderResult[] = []
  const taken = new Set<string>()
  let tally = before
  for (const call of calls) {
    const result = judgeCall(proposal, shared, call, { tally, spent, spends, taken })
    results.push(result)
    if (results.length === calls.length) break
    if (isAllowed(result)) tally = tallyWith(tally, result, state)
    else if (result.blocks.length === 0) tally = withTriggers(tally, result)
  }
  return results
}

/**
 * Hash of what was read: the calls by the hashes of their arguments, or by their arguments where these were not hashed,
 * and the rest of the response.
 */
function hashOfReading(
  salt: string,
  { finishReason, content }: ReadResponse,
  results: readonly LadderResult[],
): string {
  const calls = results.map(
    ({ call, argumentHash }) => [call.id, call.name, argumentHash ?? call.argumentsText] as const,
  )
  return sha256Hex(`${salt.length}:${salt}:${JSON.stringify([finishReason, content, calls])}`)
}

const isAllowed = (result: Pick<LadderResult, 'blocks' | 'asking'>): boolean =>
  result.blocks.length === 0 && !waits(result)

/** What a call asks people counts, though the call itself does not run. */
const withTriggers = (tally: Tally, { asking }: LadderResult): Tally =>
  asking?.standing.kind === 'new' ? { ...tally, checkpoints: tally.checkpoints + asking.triggers } : tally

/** What a call asks people that has not been asked yet. */
function questionOf(
  { plan, state, salt, people, ids }: Proposal,
  { blocks, asking, call }: LadderResult,
): NewQuestion | null {
  if (blocks.length > 0 || asking?.standing.kind !== 'new' || !people || call.arguments === null) return null
  const { asked, hash, flow } = asking
  const proposed = { id: call.id, tool: call.name, arguments: call.arguments, hash, flow }
  return newQuestion(people, asked, proposed, { id: ids.sessionId, agent: state.agent, salt, planHash: plan.hash })
}

function tallyWith(tally: Tally, allowed: LadderResult, state: SessionState): Tally {
  const { call, contract, argumentHash, keys, amounts, draws, triggers, consequences } = allowed
  const aggregates = new Map(amounts.added.map((added) => [added.slot, totalWith(added, state, tally)]))
  const counted = {
    tool: call.name,
    contract,
    argumentHash: argumentHash ?? '',
    aggregates,
    newKeys: contract === null ? NO_NEW_KEYS : newKeys(contract.keeps, keys, state),
    consumes: consequences?.effects.consumes ?? [],
    reruns: contract === null ? [] : rerunsOf(contract.provides, consequences?.effects.witnesses ?? {}),
    checkpoints: triggers,
    shared: sharedWith(tally.shared, draws.draws),
  }
  return tallyCall(tally, counted, state)
}

/** An unreadable response without calls still gets a verdict, as one call without a name. */
function callsToJudge(response: ReadResponse): readonly ToolCall[] {
  if (response.calls.length > 0 || response.problems.length === 0) return response.calls
  const problem = 'the response could not be read'
  return [{ id: '', name: '', index: 0, choice: 0, kind: 'function', argumentsText: '', arguments: null, problem }]
}

/** If usage or price is unknown, a response counts as much as the most expensive one so far. */
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
  return (outcome === 'blocked' || outcome === 'partial') && tripsOnBlock(plan, state.consecutiveBlocks + 1)
}

const needsPerson = ({ checkpoints }: LadderResult): boolean => checkpoints.length > 0
