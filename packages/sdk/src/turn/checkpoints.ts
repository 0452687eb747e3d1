import { type CompiledPath, compilePath } from '@countersign/engine'
import {
  type ApprovalRequest,
  type ApprovalResponse,
  approvalResponseSchema,
  type CheckpointTrigger,
  type Decision,
  type JsonObject,
  LIMITS,
} from '@countersign/protocol'
import type { Approval } from '../authority/open-calls.js'
import { messageOf, type Report } from '../base/diagnostics.js'

export type OnCheckpoint = (request: ApprovalRequest) => Promise<ApprovalResponse> | ApprovalResponse

export interface CheckpointCall {
  readonly decision: Decision
  readonly arguments: JsonObject
}

export interface CheckpointResult {
  readonly approvals: readonly Approval[]
  /** Why the call may not go on; null when everyone who was asked agreed. */
  readonly refused: { readonly reason: 'checkpoint_denied' | 'checkpoint_timeout'; readonly detail: string } | null
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

/** What a person is to be asked about a call, now that nobody answers at once. */
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
    return answerOf(trigger, call, approver, isLate ? null : decided)
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
  approver.report({ type: 'checkpoint_requested', ...aboutOf(trigger, call, approver) })
  const answer = await withTimeout(decide(trigger, call, approver, timeoutSeconds), timeoutSeconds * 1_000)
  return answerOf(trigger, call, approver, answer)
}

const aboutOf = ({ checkpoint_id }: CheckpointTrigger, { decision }: CheckpointCall, { sessionId }: Approver) => ({
  session_id: sessionId,
  checkpoint_id,
  tool_name: decision.tool_name,
})

/** Null stands for no answer in time. */
function answerOf(
  trigger: CheckpointTrigger,
  call: CheckpointCall,
  approver: Approver,
  answer: ApprovalResponse | null,
): Answer {
  const { decision } = call
  const timeoutSeconds = clampTimeout(trigger.timeout_seconds)
  const about = aboutOf(trigger, call, approver)
  const bound = { checkpoint_id: trigger.checkpoint_id, argument_hash: decision.argument_hash ?? '' }
  approver.report({ type: 'checkpoint_resolved', ...about, decision: answer === null ? 'timeout' : answer.decision })
  if (answer === null) {
    const approval: Approval = { ...bound, decision: 'timeout', decided_at: approver.now().toISOString() }
    if (trigger.on_timeout === 'allow') return { approval, refused: null }
    const detail = `nobody answered within ${timeoutSeconds} seconds: ${trigger.reason}`
    return { approval, refused: { reason: 'checkpoint_timeout', detail } }
  }
  const { decided_by, decided_at, reason } = answer
  const approval: Approval = {
    ...bound,
    decision: answer.decision,
    decided_by,
    decided_at,
    ...(reason !== undefined && { reason }),
  }
  if (answer.decision === 'approve') return { approval, refused: null }
  return { approval, refused: { reason: 'checkpoint_denied', detail: reason ?? trigger.reason } }
}

/** Whatever else a program puts into its answer is its own business. */
const ANSWER = approvalResponseSchema.strip()

/** The callback's answer, or a denial where it gave none that can be used. */
async function decide(
  trigger: CheckpointTrigger,
  call: CheckpointCall,
  approver: Approver,
  timeoutSeconds: number,
): Promise<ApprovalResponse> {
  const deny = (reason: string): ApprovalResponse => ({
    checkpoint_id: trigger.checkpoint_id,
    decision: 'deny',
    decided_by: 'countersign',
    decided_at: approver.now().toISOString(),
    reason,
  })
  if (approver.onCheckpoint === undefined) return deny('nobody can be asked: onCheckpoint is not set')
  let given: unknown
  try {
    given = await approver.onCheckpoint(requestOf(trigger, call, approver, timeoutSeconds))
  } catch (error) {
    approver.report({ type: 'callback_error', callback: 'onCheckpoint', detail: messageOf(error) })
    return deny('the approver could not be asked: onCheckpoint threw')
  }
  const checked = ANSWER.safeParse(given)
  if (!checked.success) {
    const problem = `onCheckpoint did not return an approval response: ${firstProblem(checked.error)}`
    approver.report({ type: 'callback_error', callback: 'onCheckpoint', detail: `${problem}; the call was denied` })
    return deny(problem)
  }
  if (checked.data.checkpoint_id !== trigger.checkpoint_id) return deny('the response was for another checkpoint')
  return checked.data
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

export function clampTimeout(seconds: number): number {
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
