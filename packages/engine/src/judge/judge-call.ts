import type { Block, CallFlow, CheckpointTrigger, ContractFailure, JsonObject } from '@countersign/protocol'
import { checkInvariants } from '../contract/check-invariant.js'
import type { Plan, PreparedContract } from '../contract/plan.js'
import { isGuardedBy, type SourceContext } from '../contract/source-rule.js'
import { saltedHash } from '../json/hash.js'
import type { ReadResponse } from '../response/read-response.js'
import { type ResponseView, viewResponse } from '../response/response-view.js'
import type { ToolCall } from '../response/tool-call.js'
import type { Tally } from '../state/tally.js'
import { type Consequences, consequencesOf } from './call-effects.js'
import { checkpointOf, triggeredCheckpoints } from './checkpoint.js'
import { judgeByLadder } from './ladder.js'
import type { Proposal } from './proposal.js'
import { amountsOf, NO_AMOUNTS } from './rules/amounts.js'
import { keysOf, NO_KEYS } from './rules/call-keys.js'
import { type CallDraws, type Draw, drawsOf, NO_DRAWS } from './rules/draws.js'
import type { AskedCheckpoint, CallContext, ResponseContext } from './rules/rule.js'
import { applicable, sceneOf, unlessFailing } from './rules/scene.js'
import { judgeSources, type SourceViolation } from './rules/sources.js'

/** What the rules say of one call. */
export interface LadderResult {
  readonly call: ToolCall
  readonly contract: PreparedContract | null
  readonly argumentHash: string | null
  readonly pendingCallId: string
  readonly blocks: readonly Block[]
  readonly checkpoints: readonly CheckpointTrigger[]
  readonly keys: CallContext['keys']
  readonly amounts: CallContext['amounts']
  readonly draws: CallDraws
  /** What the call may do to the session later; null if it is blocked. */
  readonly consequences: Consequences | null
}

/** What the response and the calls before this one add. */
export interface CallSituation {
  readonly tally: Tally
  /** What the session has spent, this response included. */
  readonly spent: string
  readonly spends: readonly Draw[]
}

/** Judges a call by all rules. */
export function judgeCall(
  proposal: Proposal,
  response: ResponseContext,
  call: ToolCall,
  { tally, spent, spends }: CallSituation,
): LadderResult {
  const { plan, state, salt } = proposal
  const args = call.arguments
  const situation = { state, tally, principal: proposal.principal, salt }
  const scene = sceneOf(situation, args)
  const choose = unlessFailing(scene)
  const written = plan.contracts.get(call.name)
  const contract = written === undefined ? null : applicable(written, choose)
  const pendingCallId = proposal.ids.pendingCallId(call.index)
  const isCompared = plan.session.session_limits?.loop_detection !== undefined
  const isHashed = args !== null && (isCompared || state.refused !== undefined || proposal.keepsHashes !== false)
  const argumentHash = isHashed ? saltedHash(salt, args) : null
  const keys = args === null || contract === null ? NO_KEYS : keysOf(contract, args, salt)
  const amounts = args === null || contract === null ? NO_AMOUNTS : amountsOf(contract, args, keys)
  const shared = proposal.shared ?? null
  const draws = shared === null ? NO_DRAWS : drawsOf(plan, shared, call.name, { args, scene })
  const flow = args === null || contract === null ? null : flowFor(proposal, contract, call)
  const sourceViolations = args === null || contract === null ? [] : violationsOf(plan, contract, flow, args)
  const checkpoints =
    args === null || proposal.asks === false
      ? []
      : triggeredCheckpoints(
          plan,
          { tool: call.name, arguments: args, idPrefix: pendingCallId, flow },
          sourceViolations,
          scene,
        )
  const blocks = judgeByLadder(
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
      keys,
      amounts,
      draws,
      spends,
      checkpoints: checkpoints.length === 0 ? NO_CHECKPOINTS : checkpoints.map((trigger) => askedOf(written, trigger)),
      sourceViolations,
      response,
      salt,
      nowMs: proposal.nowMs,
      isTimed: proposal.isTimed !== false,
      shared,
      hours: choose(plan.hours),
      spent,
      inputFailures: proposal.inputFailures?.get(call.name) ?? [],
      heldResources: proposal.heldResources ?? null,
    },
    proposal.offered,
  )
  const isAllowed = blocks.length === 0 && args !== null
  const consequences = isAllowed ? consequencesOf(contract, args, { amounts, keys, draws, salt }) : null
  return { call, contract, argumentHash, pendingCallId, blocks, checkpoints, keys, amounts, draws, consequences }
}

const NO_CHECKPOINTS: readonly AskedCheckpoint[] = []

function askedOf(contract: PreparedContract | undefined, { checkpoint_id: id }: CheckpointTrigger): AskedCheckpoint {
  const checkpoint = checkpointOf(contract, id)
  return { asksAgain: checkpoint?.definition.ask_again === true, message: checkpoint?.message }
}

/** Where the call's arguments were seen; null where no rule asks, or the client did not say. */
function flowFor({ flows }: Proposal, { sources, definition }: PreparedContract, call: ToolCall): CallFlow | null {
  if (sources.length === 0 && definition.surprise === undefined) return null
  return flows?.calls.find((item) => item.call_id === call.id && item.tool === call.name) ?? null
}

function violationsOf(
  plan: Plan,
  contract: PreparedContract,
  flow: CallFlow | null,
  args: JsonObject,
): SourceViolation[] {
  if (contract.sources.length === 0) return []
  const context: SourceContext = {
    columnsOf: (tool) => plan.contracts.get(tool)?.definition.columns ?? null,
    isGuarded: (tool, path) => isGuardedBy(plan.contracts.get(tool)?.sources ?? [], path),
  }
  return judgeSources(contract.sources, { arguments: args, flow }, context)
}

export function responseContext({ plan, response, toolless }: Proposal): ResponseContext {
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
