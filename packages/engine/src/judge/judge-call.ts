import type { Block, CallFlow, CheckpointTrigger, ContractFailure, JsonObject } from '@countersign/protocol'
import { checkInvariants } from '../contract/check-invariant.js'
import type { Plan, PreparedContract } from '../contract/plan.js'
import { isGuardedBy, type SourceContext } from '../contract/source-rule.js'
import { saltedHash } from '../json/hash.js'
import type { ReadResponse } from '../response/read-response.js'
import { type ResponseView, viewResponse } from '../response/response-view.js'
import type { ToolCall } from '../response/tool-call.js'
import type { Tally } from '../state/tally.js'
import { isUnanswered } from '../state/unanswered.js'
import { type Asking, askingOf } from './asking.js'
import { type Consequences, consequencesOf } from './call-effects.js'
import { checkpointOf, triggeredCheckpoints } from './checkpoint.js'
import { flowFor } from './flow-for.js'
import { judgeByLadder } from './ladder.js'
import type { Proposal } from './proposal.js'
import { amountsOf, NO_AMOUNTS } from './rules/amounts.js'
import { keysOf, NO_KEYS } from './rules/call-keys.js'
import { type CallDraws, type Draw, drawsOf, NO_DRAWS } from './rules/draws.js'
import type { AskedCheckpoint, CallContext, ResponseContext } from './rules/rule.js'
import { applicable, sceneOf, unlessFailing } from './rules/scene.js'
import { judgeSources, type SourceViolation } from './rules/sources.js'
import { type AskedPeople, NOTHING_ASKED, type Standing, standingOf, wasJudgedBefore } from './rules/standing.js'

/** What the rules say of one call. */
export interface LadderResult {
  readonly call: ToolCall
  readonly contract: PreparedContract | null
  readonly argumentHash: string | null
  readonly pendingCallId: string
  readonly blocks: readonly Block[]
  /** Those that ask the program. */
  readonly checkpoints: readonly CheckpointTrigger[]
  /** How many of the session's triggers it takes where it is allowed. */
  readonly triggers: number
  /** Null: the call asks no people. */
  readonly asking: CallAsking | null
  readonly keys: CallContext['keys']
  readonly amounts: CallContext['amounts']
  readonly draws: CallDraws
  /** What the call may do to the session later; null if it is blocked. */
  readonly consequences: Consequences | null
}

/** What the rules of a call ask people, and how it stands to that. */
export interface CallAsking {
  readonly asked: AskedPeople
  readonly triggers: number
  readonly standing: Standing
  readonly hash: string
  readonly flow: CallFlow | null
}

/** What the response and the calls before this one add. */
export interface CallSituation {
  readonly tally: Tally
  /** What the session has spent, this response included. */
  readonly spent: string
  readonly spends: readonly Draw[]
  /** Questions that calls before this one stand for. */
  readonly taken: Set<string>
}

/** Judges a call by all rules. */
export function judgeCall(
  proposal: Proposal,
  response: ResponseContext,
  call: ToolCall,
  { tally, spent, spends, taken }: CallSituation,
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
  const isHashed =
    args !== null &&
    (isCompared || state.refused !== undefined || state.unanswered !== undefined || proposal.keepsHashes !== false)
  let argumentHash = isHashed ? saltedHash(salt, args) : null
  const keys = args === null || contract === null ? NO_KEYS : keysOf(contract, args, salt)
  const amounts = args === null || contract === null ? NO_AMOUNTS : amountsOf(contract, args, keys)
  const shared = proposal.shared ?? null
  const draws = shared === null ? NO_DRAWS : drawsOf(plan, shared, call.name, { args, scene })
  const flow = args === null || contract === null ? null : flowFor(proposal, contract, call)
  const sourceViolations = args === null || contract === null ? [] : violationsOf(plan, contract, flow, args)
  const triggers =
    args === null || proposal.asks === false
      ? []
      : triggeredCheckpoints(
          plan,
          { tool: call.name, arguments: args, idPrefix: pendingCallId, flow },
          sourceViolations,
          scene,
        )
  const { people: asked, triggers: askedTriggers, client } = whomItAsks(proposal, written, call, triggers)
  // A changed call may ask nothing any more, and uses its answer up all the same.
  const redeems = proposal.people?.redeems.has(call.id) === true
  if ((asked !== null || redeems) && args !== null) argumentHash ??= saltedHash(salt, args)
  const standing =
    (asked === null && !redeems) || argumentHash === null
      ? null
      : stands(proposal, asked ?? NOTHING_ASKED, call, argumentHash, taken)
  const asking =
    standing === null || argumentHash === null
      ? null
      : { asked: asked ?? NOTHING_ASKED, triggers: askedTriggers, flow, hash: argumentHash, standing }
  const checkpoints = asking === null ? triggers : client
  const counted = asking === null || asking.standing.kind === 'new' ? triggers : client
  const isAskedAgain = client.length > 0 && asksAgain(proposal, call.name, argumentHash, taken)
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
      checkpoints: counted.length === 0 ? NO_CHECKPOINTS : counted.map((trigger) => askedOf(written, trigger)),
      triggers: counted.length - (isAskedAgain ? client.length : 0),
      standing: asking?.standing ?? null,
      sourceViolations,
      response,
      salt,
      nowMs: proposal.nowMs,
      isTimed: proposal.isTimed !== false,
      shared,
      hours: choose(plan.hours),
      spent,
      inputFailures: wasJudgedBefore(asking?.standing ?? null) ? [] : (proposal.inputFailures?.get(call.name) ?? []),
      heldResources: proposal.heldResources ?? null,
    },
    proposal.offered,
  )
  const isAllowed = blocks.length === 0 && args !== null
  const consequences = isAllowed ? consequencesOf(contract, args, { amounts, keys, draws, salt }) : null
  return {
    call,
    contract,
    argumentHash,
    pendingCallId,
    blocks,
    checkpoints,
    triggers: isAskedAgain ? 0 : checkpoints.length,
    asking,
    keys,
    amounts,
    draws,
    consequences,
  }
}

/** Its program is still asking a person about the call. Of equal calls of a response that is one. */
function asksAgain({ state, nowMs }: Proposal, tool: string, hash: string | null, taken: Set<string>): boolean {
  if (hash === null || !isUnanswered(state, { tool, hash }, nowMs)) return false
  const key = `${tool} ${hash}`
  if (taken.has(key)) return false
  taken.add(key)
  return true
}

const NOBODY_ASKED = (client: readonly CheckpointTrigger[]): Asking => ({ people: null, triggers: 0, client })

function whomItAsks(
  { people, plan, state, nowMs }: Proposal,
  contract: PreparedContract | undefined,
  call: ToolCall,
  checkpoints: readonly CheckpointTrigger[],
): Asking {
  if (people === undefined) return NOBODY_ASKED(checkpoints)
  return askingOf(plan, state, { tool: call.name, contract, checkpoints }, nowMs)
}

function stands(
  { people, state, nowMs }: Proposal,
  asked: AskedPeople,
  { id, name }: ToolCall,
  hash: string,
  taken: Set<string>,
): Standing | null {
  return standingOf(people ?? null, state, asked, { id, tool: name, hash, nowMs }, taken)
}

/** True of an allowed call that has to wait for people. */
export const waits = ({ blocks, asking }: Pick<LadderResult, 'blocks' | 'asking'>): boolean =>
  blocks.length === 0 && asking !== null && asking.standing.kind !== 'approved'

const NO_CHECKPOINTS: readonly AskedCheckpoint[] = []

function askedOf(contract: PreparedContract | undefined, { checkpoint_id: id }: CheckpointTrigger): AskedCheckpoint {
  const checkpoint = checkpointOf(contract, id)
  return { asksAgain: checkpoint?.definition.ask_again === true, message: checkpoint?.message }
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
