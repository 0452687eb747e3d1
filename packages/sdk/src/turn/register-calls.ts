import type { ToolCall } from '@countersign/engine'
import type { Decision } from '@countersign/protocol'
import type { ProposalVerdict } from '../authority/authority.js'
import type { OpenCall } from '../authority/open-calls.js'
import { type Approver, askForApproval, refusedDecision } from '../session/core/checkpoints.js'

/** The calls of a response after people have been asked about those that need it. */
export interface RegisteredCalls {
  readonly decisions: readonly Decision[]
  /** Registered and free to run. */
  readonly open: readonly OpenCall[]
  /** Registered, and a person is still to be asked. */
  readonly asking: readonly OpenCall[]
  /** Registered, and stopped since, by a person or a control: they must be resolved as not executed. */
  readonly stopped: readonly OpenCall[]
}

export interface ProposedCalls {
  readonly calls: readonly ToolCall[]
  /** The calls whose results were in the request. */
  readonly answeredIds: readonly string[]
  /** Since they were sent to be judged: nobody knows when the answer was written. */
  readonly ageMs: () => number
}

/** Registers the calls that were allowed, and asks people about those that need it: now, later, or never. */
export async function registerCalls(
  verdict: ProposalVerdict,
  proposed: ProposedCalls,
  approver: Approver | 'later' | null,
): Promise<RegisteredCalls> {
  const open: OpenCall[] = []
  const stopped: OpenCall[] = []
  for (const decision of verdict.decisions) {
    const call = openCall(decision, proposed, verdict)
    if (call !== null) (decision.decision === 'block' ? stopped : open).push(call)
  }
  const needsPerson = approver !== null && open.some(({ decision }) => decision.checkpoint_required)
  if (!needsPerson) return { decisions: verdict.decisions, open, asking: NONE, stopped }
  if (approver === 'later') return askLater(verdict.decisions, { open, stopped })
  return askAboutCalls(verdict.decisions, { open, stopped }, approver)
}

const NONE: readonly OpenCall[] = []

function askLater(
  decisions: readonly Decision[],
  { open, stopped }: Pick<RegisteredCalls, 'open' | 'stopped'>,
): RegisteredCalls {
  const asking = open.filter(({ decision }) => decision.checkpoint_required)
  for (const call of asking) call.state = 'asking'
  return { decisions, open: open.filter((call) => !asking.includes(call)), asking, stopped }
}

async function askAboutCalls(
  decided: readonly Decision[],
  registered: Pick<RegisteredCalls, 'open' | 'stopped'>,
  approver: Approver,
): Promise<RegisteredCalls> {
  const asked = await Promise.all(
    decided.map(async (decision) => {
      const call = registered.open.find((one) => one.decision === decision)
      const needsPerson = call !== undefined && decision.checkpoint_required
      return { decision, call, result: needsPerson ? await askForApproval(call, approver) : null }
    }),
  )
  const open: OpenCall[] = []
  const stopped = [...registered.stopped]
  const decisions = asked.map(({ decision, call, result }) => {
    if (call === undefined) return decision
    const answered = { ...call, approvals: result?.approvals ?? [] }
    const refused = result?.refused ?? null
    if (refused === null) {
      open.push(answered)
      return decision
    }
    const blocked = refusedDecision(decision, refused)
    stopped.push({ ...answered, decision: blocked })
    return blocked
  })
  return { decisions, open, asking: NONE, stopped }
}

function openCall(
  decision: Decision,
  { calls, answeredIds, ageMs }: ProposedCalls,
  { by }: ProposalVerdict,
): OpenCall | null {
  const call = calls.find(({ index }) => index === decision.index)
  const args = call?.arguments ?? null
  if (decision.pending_call_id === null || args === null) return null
  return {
    callId: decision.call_id,
    toolName: decision.tool_name,
    arguments: args,
    takesText: call?.kind === 'custom',
    decision,
    pendingCallId: decision.pending_call_id,
    argumentHash: decision.argument_hash ?? '',
    by,
    ageMs,
    approvals: [],
    answeredBefore: timesIn(answeredIds, decision.call_id),
    state: 'allowed',
    refused: false,
  }
}

export function timesIn(ids: readonly string[], id: string): number {
  let times = 0
  for (const other of ids) if (other === id) times++
  return times
}
