import {
  type Block,
  type CallFlow,
  type CheckpointTrigger,
  type JsonObject,
  type LedgerCall,
  type LedgerReceipt,
  LIMITS,
  NOT_ASKED,
  type Receipt,
} from '@countersign/protocol'
import type { Plan, PreparedCheckpoint, PreparedContract } from '../contract/plan.js'
import { unusualCall } from '../contract/surprise.js'
import {
  applies,
  type Conditional,
  readsArgumentsOnly,
  type Scene,
  sceneWithoutSession,
} from '../contract/when/condition.js'
import { saltedHash } from '../json/hash.js'
import { plainText } from '../text/cut-text.js'
import { advised, block } from './rules/rule.js'
import type { SourceViolation } from './rules/sources.js'

/** The part of a call that checkpoints need. `idPrefix` is the pending call's id: an approval is for one call only. */
export interface CheckedCall {
  readonly tool: string
  readonly arguments: JsonObject
  readonly idPrefix: string
  /** Null if the client did not say where values were seen; absent where that is judged elsewhere. */
  readonly flow?: CallFlow | null
}

/**
 * The checkpoints that a call must pass before it runs: those of its contract whose conditions hold, one if
 * `risk_defaults` asks for it, and one for what the learned rules find odd. Without a scene, those that depend on the
 * session are left to its holder.
 */
export function triggeredCheckpoints(
  plan: Plan,
  call: CheckedCall,
  sourceViolations: readonly SourceViolation[],
  scene: Scene | null = null,
): CheckpointTrigger[] {
  const contract = plan.contracts.get(call.tool)
  if (contract === undefined) return []
  const triggers: CheckpointTrigger[] = []
  if (contract.checkpoints.length > 0) {
    contract.checkpoints.forEach((checkpoint, index) => {
      const { definition } = checkpoint
      const isAsked = scene === null ? asksByArguments(checkpoint, call.arguments) : applies(checkpoint, scene)
      if (!isAsked) return
      const { reason, timeout_seconds, on_timeout, context } = definition
      triggers.push({ checkpoint_id: `${call.idPrefix}#${index}`, reason, timeout_seconds, on_timeout, context })
    })
  }
  if (contract.risk === 'checkpoint') {
    triggers.push(defaultTrigger(call, 'risk', `"${call.tool}" is ${contract.definition.side_effect}`, []))
  }
  const learned = learnedQuestion(plan, contract, call, sourceViolations)
  if (learned !== null) triggers.push(learned)
  return triggers
}

/** Without the session only conditions on arguments can be answered; its holder answers the others. */
const asksByArguments = (checkpoint: PreparedCheckpoint, args: JsonObject): boolean =>
  readsArgumentsOnly(checkpoint) && applies(checkpoint, sceneWithoutSession(args))

/** What the learned rules find odd about a call is one question, so that a person decides about the call once. */
function learnedQuestion(
  plan: Plan,
  contract: PreparedContract,
  call: CheckedCall,
  sourceViolations: readonly SourceViolation[],
): CheckpointTrigger | null {
  const violationsThat = (otherwise: SourceViolation['otherwise']) =>
    sourceViolations.filter((violation) => violation.otherwise === otherwise)
  const asked = violationsThat('ask')
  const unusual = unusualReason(plan, contract, call)
  if (asked.length === 0 && unusual === null) return null
  const remediesOf = (found: readonly SourceViolation[]) => found.slice(0, MAX_REASONS).map(({ remedy }) => remedy)
  const reasons: string[] = []
  if (asked.length > 0) reasons.push(`unusual source: ${remediesOf(asked).join('; ')}`)
  if (unusual !== null) reasons.push(unusual, ...remediesOf(violationsThat('note')))
  const paths = [...new Set(asked.map(({ path }) => path))]
  return defaultTrigger(
    call,
    asked.length > 0 ? 'source' : 'unusual',
    plainText(reasons.join('; '), MAX_REASON_LENGTH - 1),
    paths.map((path) => ({ label: path, path })),
  )
}

function unusualReason(plan: Plan, contract: PreparedContract, { tool, flow }: CheckedCall): string | null {
  const { surprise } = contract.definition
  if (surprise === undefined || plan.asksFrom === null || flow === undefined) return null
  return unusualCall(tool, surprise, {
    flow,
    threshold: plan.asksFrom,
    longestOf: (from, path) => plan.contracts.get(from)?.longest.get(path) ?? null,
  })
}

const MAX_REASON_LENGTH = 500
const MAX_REASONS = 8

function defaultTrigger(
  call: CheckedCall,
  suffix: string,
  reason: string,
  context: CheckpointTrigger['context'],
): CheckpointTrigger {
  return {
    checkpoint_id: `${call.idPrefix}#${suffix}`,
    reason,
    timeout_seconds: LIMITS.checkpointTimeoutDefaultSeconds,
    on_timeout: 'deny',
    context,
  }
}

type Approvals = NonNullable<Receipt['approvals']>

/** What the ledger says of approvals: who decided and why stand beside it, and must fit these hashes. */
export function approvalRecords(approvals: Approvals, salt: string): LedgerReceipt['approvals'] {
  return approvals.map(({ checkpoint_id, decision, argument_hash, decided_by, reason }) => {
    const record: LedgerReceipt['approvals'][number] = { checkpoint_id, decision, argument_hash }
    if (decided_by !== undefined) record.decided_by_hash = saltedHash(salt, decided_by)
    if (reason !== undefined) record.reason_hash = saltedHash(salt, reason)
    return record
  })
}

/** True if a person refused the call; false where none could be asked. */
export const isRefused = (call: Pick<LedgerCall, 'argument_hash' | 'checkpoints'>, approvals: Approvals): boolean =>
  ownApprovals(call, approvals).some(({ decision, decided_by }) => decision === 'deny' && decided_by !== NOT_ASKED)

const ownApprovals = (call: Pick<LedgerCall, 'argument_hash' | 'checkpoints'>, approvals: Approvals): Approvals =>
  approvals.filter(
    ({ checkpoint_id, argument_hash }) =>
      call.checkpoints.includes(checkpoint_id) && argument_hash === call.argument_hash,
  )

/** Why the approvals of a call do not let it run; null where none of them stops it. */
export function stoppedBy(
  call: Pick<LedgerCall, 'tool_name' | 'argument_hash' | 'checkpoints'>,
  approvals: Approvals,
  plan: Plan,
): 'checkpoint_denied' | 'checkpoint_timeout' | null {
  const own = ownApprovals(call, approvals)
  if (own.some(({ decision }) => decision === 'deny')) return 'checkpoint_denied'
  const isLate = own.some(
    ({ checkpoint_id, decision }) => decision === 'timeout' && !allowsTimeout(call.tool_name, checkpoint_id, plan),
  )
  return isLate ? 'checkpoint_timeout' : null
}

/** True if every checkpoint of a call was approved for exactly the arguments that were allowed. */
export function isApproved(
  call: Pick<LedgerCall, 'tool_name' | 'argument_hash' | 'checkpoints'>,
  approvals: Approvals,
  plan: Plan,
): boolean {
  return call.checkpoints.every((id) =>
    approvals.some(
      (approval) =>
        approval.checkpoint_id === id &&
        approval.argument_hash === call.argument_hash &&
        (approval.decision === 'approve' ||
          (approval.decision === 'timeout' && allowsTimeout(call.tool_name, id, plan))),
    ),
  )
}

function allowsTimeout(tool: string, checkpointId: string, plan: Plan): boolean {
  return checkpointOf(plan.contracts.get(tool), checkpointId)?.definition.on_timeout === 'allow'
}

/** The checkpoint of a contract that an id names; undefined for what the session or learned rules ask. */
export function checkpointOf(contract: PreparedContract | undefined, checkpointId: string) {
  return contract?.checkpoints[Number(checkpointId.slice(checkpointId.lastIndexOf('#') + 1))]
}

/** Why a call that needs the approval of a person may not go on. */
export interface NotApproved {
  readonly ended: 'checkpoint_denied' | 'checkpoint_timeout'
  /** What the person who refused it said, or what the question was; null where no person has answered. */
  readonly said: string | null
}

const SAY_SO = 'Do not repeat it; say that a person has to approve it.'

/** What the owners of a call's checkpoints want the model to read. */
export function checkpointOwners(plan: Plan, tool: string, ids: readonly string[]): Pick<Conditional, 'message'>[] {
  const contract = plan.contracts.get(tool)
  return ids.map((id) => ({ message: checkpointOf(contract, id)?.message ?? contract?.definition.message }))
}

/** The block for a call whose checkpoint was denied or not answered in time. The model reads the remedy. */
export function checkpointBlock(
  tool: string,
  { ended, said }: NotApproved,
  owners: readonly Pick<Conditional, 'message'>[] = [],
): Block {
  const name = JSON.stringify(tool)
  const [fact, advice] =
    ended === 'checkpoint_timeout'
      ? [`This call of ${name} was not approved in time.`, SAY_SO]
      : said === null
        ? [`This call of ${name} needs the approval of a person, and is not approved yet.`, SAY_SO]
        : [`A person refused this call of ${name}: ${said}.`, 'Do not repeat it; ask what to do instead.']
  return block(ended, null, { ...advised(fact, advice, owners), ...(said === null ? {} : { detail: said }) })
}
