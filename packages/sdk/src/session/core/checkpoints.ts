import {
  type CompiledPath,
  checkpointBlock,
  checkpointOwners,
  compilePath,
  type NotApproved,
  type Plan,
} from '@countersign/engine'
import {
  type ApprovalRequest,
  type ApprovalResponse,
  approvalResponseSchema,
  type CheckpointTrigger,
  type Decision,
  type JsonObject,
  LIMITS,
  NOT_ASKED,
} from '@countersign/protocol'
import type { Approval } from '../../authority/open-calls.js'
import { messageOf, type Report } from '../../base/diagnostics.js'
import type { OnCheckpoint } from '../../options/replay-settings.js'

export interface CheckpointCall {
  readonly decision: Decision
  readonly arguments: JsonObject
}

export interface CheckpointResult {
  readonly approvals: readonly Approval[]
  /** Why the call may not go on; null when everyone who was asked agreed. */
  readonly refused: NotApproved | null
}

export interface Approver {
  readonly sessionId: string
  readonly onCheckpoint: OnCheckpoint | undefined
  readonly report: Report
  readonly now: () => Date
}

/**
 * Asks a person about every checkpoint that a call triggered, all at once, since the lease of the session covers the
 * longest of them. Only an approval that is whole, in time and about this checkpoint lets the call go on.
 */
export async function askForApproval(call: CheckpointCall, approver: Approver): Promise<CheckpointResult> {
  const answers = await Promise.all(call.decision.checkpoints.map((trigger) => askOne(trigger, call, approver)))
  const stopped = answers.find(({ refused }) => refused !== null)
  return { approvals: answers.map(({ approval }) => approval), refused: stopped?.refused ?? null }
}

/** What a person decided about a call, for every checkpoint that it triggered. */
export interface PersonsAnswer {
  /** Whether the call may run. */
  readonly decision: 'approve' | 'deny'
  /** Who decided, as the record should name them. */
  readonly decided_by: string
  /** Why, in at most 1,000 characters. */
  readonly reason?: string
}

/** What a person is to be asked about a call, when the answer does not come at once. */
export function questionsOf(call: CheckpointCall, approver: Approver): ApprovalRequest[] {
  return call.decision.checkpoints.map((trigger) => {
    approver.report({ type: 'checkpoint_requested', ...aboutOf(trigger, call, approver) })
    return requestOf(trigger, call, approver, clampTimeout(trigger.timeout_seconds))
  })
}

/** Weighs an answer that came `ageMs` after the question. One that is too late is none. */
export function weighAnswer(
  call: CheckpointCall,
  given: PersonsAnswer,
  ageMs: number,
  approver: Approver,
): CheckpointResult {
  const answers = call.decision.checkpoints.map((trigger) => {
    const timeoutSeconds = clampTimeout(trigger.timeout_seconds)
    const isLate = ageMs > timeoutSeconds * 1_000
    const decided = { checkpoint_id: trigger.checkpoint_id, decided_at: approver.now().toISOString(), ...given }
    return answerOf(trigger, call, approver, isLate ? 'late' : decided)
  })
  const stopped = answers.find(({ refused }) => refused !== null)
  return { approvals: answers.map(({ approval }) => approval), refused: stopped?.refused ?? null }
}

interface Answer {
  readonly approval: Approval
  readonly refused: CheckpointResult['refused']
}

async function askOne(trigger: CheckpointTrigger, call: CheckpointCall, approver: Approver): Promise<Answer> {
  const timeoutSeconds = clampTimeout(trigger.timeout_seconds)
  const given = await withTimeout(decide(trigger, call, approver, timeoutSeconds), timeoutSeconds * 1_000)
  return answerOf(trigger, call, approver, given ?? 'late')
}

const aboutOf = ({ checkpoint_id }: CheckpointTrigger, { decision }: CheckpointCall, { sessionId }: Approver) => ({
  session_id: sessionId,
  checkpoint_id,
  tool_name: decision.tool_name,
})

/** An answer, none in time, or why no person has given one. */
type Given = ApprovalResponse | 'late' | { readonly unasked: string }

function answerOf(trigger: CheckpointTrigger, call: CheckpointCall, approver: Approver, given: Given): Answer {
  const about = aboutOf(trigger, call, approver)
  const decidedAt = approver.now().toISOString()
  const bound = { checkpoint_id: trigger.checkpoint_id, argument_hash: call.decision.argument_hash ?? '' }
  if (given === 'late') {
    approver.report({ type: 'checkpoint_resolved', ...about, decision: 'timeout' })
    const approval: Approval = { ...bound, decision: 'timeout', decided_at: decidedAt }
    if (trigger.on_timeout === 'allow') return { approval, refused: null }
    return { approval, refused: { ended: 'checkpoint_timeout', said: trigger.reason } }
  }
  if ('unasked' in given) {
    const reason = given.unasked
    const approval: Approval = { ...bound, decision: 'deny', decided_by: NOT_ASKED, decided_at: decidedAt, reason }
    return { approval, refused: { ended: 'checkpoint_denied', said: null } }
  }
  const { decision, decided_by, decided_at, reason } = given
  approver.report({ type: 'checkpoint_resolved', ...about, decision })
  const approval: Approval = { ...bound, decision, decided_by, decided_at, ...(reason !== undefined && { reason }) }
  if (decision === 'approve') return { approval, refused: null }
  return { approval, refused: { ended: 'checkpoint_denied', said: reason ?? trigger.reason } }
}

/** Whatever else a program puts into its answer is its own business. */
const ANSWER = approvalResponseSchema.strip()

/** The callback's answer. Where it gave none that can be used, the program hears why, and the model does not. */
async function decide(
  trigger: CheckpointTrigger,
  call: CheckpointCall,
  approver: Approver,
  timeoutSeconds: number,
): Promise<Given> {
  const { onCheckpoint } = approver
  const about = aboutOf(trigger, call, approver)
  const failed = (detail: string): void => {
    approver.report({ type: 'callback_error', callback: 'onCheckpoint', detail: `${detail}; the call was denied` })
    approver.report({ type: 'checkpoint_resolved', ...about, decision: 'deny' })
  }
  if (onCheckpoint === undefined) {
    const { session_id, tool_name } = about
    const detail = `a call of ${tool_name} needs the approval of a person, and there is no way to ask one: it was denied`
    approver.report({ type: 'checkpoint_not_asked', session_id, tool_name, detail })
    return { unasked: 'there is no way to ask a person' }
  }
  approver.report({ type: 'checkpoint_requested', ...about })
  let given: unknown
  try {
    given = await onCheckpoint(requestOf(trigger, call, approver, timeoutSeconds))
  } catch (error) {
    failed(messageOf(error))
    return { unasked: 'the program could not ask a person' }
  }
  const checked = ANSWER.safeParse(given)
  if (!checked.success) {
    failed(`it did not return an approval response: ${firstProblem(checked.error)}`)
    return { unasked: 'the answer could not be read' }
  }
  if (checked.data.checkpoint_id === trigger.checkpoint_id) return checked.data
  failed(`it answered the checkpoint ${checked.data.checkpoint_id}, not ${trigger.checkpoint_id}`)
  return { unasked: 'the answer was for another checkpoint' }
}

function requestOf(
  trigger: CheckpointTrigger,
  { decision, arguments: args }: CheckpointCall,
  approver: Approver,
  timeoutSeconds: number,
): ApprovalRequest {
  // The approver may change what it is given; the tool must still get what was judged.
  const shown = structuredClone(args)
  return {
    checkpoint_id: trigger.checkpoint_id,
    session_id: approver.sessionId,
    tool_name: decision.tool_name,
    arguments: shown,
    context: trigger.context.map(({ label, path }) => ({ label, value: compiled(path)?.first(shown) })),
    reason: trigger.reason,
    timeout_seconds: timeoutSeconds,
    requested_at: approver.now().toISOString(),
  }
}

/** The first field that is wrong, such as `decided_at: expected a time`. */
function firstProblem({
  issues: [issue],
}: {
  readonly issues: readonly { path: PropertyKey[]; message: string }[]
}): string {
  const field = issue?.path.join('.') ?? ''
  return field === '' ? 'it is not an object' : `${field}: ${issue?.message}`
}

/** The decision about a call that a person has refused. */
export function refusedDecision(decision: Decision, refused: NotApproved, plan: Plan): Decision {
  const ids = decision.checkpoints.map(({ checkpoint_id }) => checkpoint_id)
  const owners = checkpointOwners(plan, decision.tool_name, ids)
  const block = checkpointBlock(decision.tool_name, refused, owners)
  return { ...decision, decision: 'block', reason: block.reason, reasons: [block], remedy: block.remedy, failures: [] }
}

function clampTimeout(seconds: number): number {
  return Math.min(Math.max(seconds, LIMITS.checkpointTimeoutMinSeconds), LIMITS.checkpointTimeoutMaxSeconds)
}

function compiled(path: string): CompiledPath | null {
  const compilation = compilePath(path)
  return compilation.ok ? compilation.path : null
}

/** Null when the time is up first; what comes later is ignored. */
async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms)
  })
  try {
    return await Promise.race([work, timeUp])
  } finally {
    clearTimeout(timer)
  }
}
