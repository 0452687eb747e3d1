import type { LedgerBody, LedgerEventType, TimelineItem } from '@countersign/protocol'
import type { Tone } from '../../components/basic/badge.js'
import { fullTime, plural } from '../../text/format.js'
import { CAUSES } from '../questions/question-words.js'

export interface EventSummary {
  readonly title: string
  readonly tone: Tone
  /** What happened, in one line. Names are shown unchanged. */
  readonly facts: readonly string[]
  /** The question to people that it is about. */
  readonly questionId?: string
}

/** An event of the ledger in words. */
export function describeEvent({ type, body }: Pick<TimelineItem, 'type' | 'body'>): EventSummary {
  const describe = DESCRIPTIONS[type] as (body: TimelineItem['body']) => EventSummary
  return describe(body)
}

const KILLERS = {
  client: 'by the program',
  dashboard: 'by a person, from the dashboard',
  breaker: 'by the circuit breaker',
  workflow: 'together with its workflow',
} as const

const list = (names: readonly string[]): string => names.join(', ')

/** Calls that were allowed, and stopped before they ran. */
const stoppedIn = ({ receipts }: LedgerBody<'receipts'>): number =>
  receipts.filter(({ block_reason }) => block_reason !== undefined).length

/** Calls that people were asked about, which do not run yet. */
const askedIn = ({ calls }: LedgerBody<'proposal'>): number =>
  calls.filter(({ question }) => question !== undefined && question.step !== 'used').length

const isOnlyAsked = (body: LedgerBody<'proposal'>): boolean =>
  askedIn(body) > 0 && askedIn(body) === body.calls.filter(({ decision }) => decision === 'block').length

const DESCRIPTIONS: { [T in LedgerEventType]: (body: LedgerBody<T>) => EventSummary } = {
  created: (body) => ({
    title: 'Session created',
    tone: 'accent',
    facts: [
      body.plan_source === 'approved' ? 'under the approved plan' : 'under a plan sent by the client',
      `tools without a contract: ${body.unmatched_policy}`,
      `stores ${body.capture_level} data`,
      ...(body.workflow === null ? [] : [`role ${body.workflow.role} of workflow ${body.workflow.workflow_id}`]),
    ],
  }),
  proposal: (body) => ({
    title: isOnlyAsked(body) ? 'Calls proposed, a person has to decide' : PROPOSALS[body.outcome],
    tone: isOnlyAsked(body)
      ? 'accent'
      : body.outcome === 'blocked'
        ? 'block'
        : body.outcome === 'partial'
          ? 'warn'
          : 'neutral',
    facts: [
      ...(body.model === null ? [] : [body.model]),
      ...(body.usage === null ? [] : [`${body.usage.input_tokens} tokens in, ${body.usage.output_tokens} out`]),
      ...(body.calls.length === 0 ? [] : [plural(body.calls.length, 'call')]),
      ...(askedIn(body) === 0 ? [] : [`people were asked about ${plural(askedIn(body), 'call')}`]),
      ...(body.provider_run.length === 0 ? [] : [`executed by the provider: ${list(body.provider_run)}`]),
    ],
  }),
  turn_blocked: (body) => ({
    title: 'Turn blocked before the model was called',
    tone: 'block',
    facts: [
      body.detail === null ? body.reason : `${body.reason}: ${body.detail}`,
      ...(body.model === null ? [] : [body.model]),
    ],
  }),
  receipts: (body) => ({
    title: body.committed ? 'Step committed' : stoppedIn(body) > 0 ? 'Calls stopped' : 'Evidence recorded',
    tone: body.committed ? 'allow' : stoppedIn(body) > 0 ? 'block' : 'neutral',
    facts: [
      plural(body.receipts.length, 'receipt'),
      ...(stoppedIn(body) === 0 ? [] : [`${plural(stoppedIn(body), 'allowed call')} stopped before it ran`]),
      body.committed ? 'the state advanced' : 'the state did not advance',
    ],
  }),
  claimed: () => ({ title: 'Call claimed', tone: 'neutral', facts: ['one process runs it, and no other may'] }),
  answered: (body) => ({
    title: body.decision === 'approve' ? 'A person approved' : 'A person denied',
    tone: body.decision === 'approve' ? 'allow' : 'block',
    facts: [
      ...(body.relation === 'self' ? ['their own request'] : []),
      ...(body.edited_hash === undefined ? [] : ['with changed arguments']),
      ...(body.state === 'waiting' ? [`${body.have} so far, more are needed`] : []),
      ...(body.usable_until === undefined ? [] : [`the call may run until ${fullTime(body.usable_until)}`]),
    ],
    questionId: body.question_id,
  }),
  question_changed: (body) => ({
    title: 'Question put again',
    tone: 'accent',
    facts: [
      body.cause === 'plan_changed' ? 'a new plan was approved' : 'an owner asked again',
      'answers before are void',
    ],
    questionId: body.question_id,
  }),
  question_ended: (body) => ({
    title: body.state === 'expired' ? 'Question expired' : 'Question withdrawn',
    tone: 'neutral',
    facts: body.state === 'expired' ? ['the call did not run'] : [CAUSES[body.cause]],
    questionId: body.question_id,
  }),
  label: (body) => ({ title: 'Label added', tone: 'accent', facts: [body.label] }),
  tool_filter: (body) => ({
    title: body.tools === null ? 'Tool filter cleared' : 'Tool filter set',
    tone: 'accent',
    facts: body.tools === null ? [] : [`only ${list(body.tools)}`],
  }),
  bypass: (body) => ({
    title: 'Session compromised',
    tone: 'warn',
    facts: [
      body.cause === 'bypass'
        ? `the wrapped client was bypassed${body.method === null ? '' : ` (${body.method})`}`
        : 'a tool ran with arguments that were not allowed',
    ],
  }),
  killed: (body) => ({ title: 'Session killed', tone: 'block', facts: [KILLERS[body.by]] }),
  recovered: (body) => ({
    title: body.takeover ? 'Session taken over' : 'Session recovered',
    tone: 'doubt',
    facts: [
      `new fence ${body.fence}`,
      body.in_doubt.length === 0 ? 'nothing in doubt' : `${plural(body.in_doubt.length, 'call')} in doubt`,
    ],
  }),
  ended: () => ({ title: 'Session ended', tone: 'neutral', facts: ['its program is done with it'] }),
  handoff_offered: (body) => ({
    title: 'Handoff offered',
    tone: 'accent',
    facts: [`to ${body.role}`, ...(body.tools === null ? [] : [`with ${list(body.tools)}`])],
  }),
  handoff_accepted: (body) => ({ title: 'Handoff accepted', tone: 'accent', facts: [`as ${body.role}`] }),
  handoff_completed: (body) => ({
    title: 'Handoff completed',
    tone: 'allow',
    facts: [`by ${body.role}`, ...(body.labels.length === 0 ? [] : [`with labels ${list(body.labels)}`])],
  }),
  handoff_reclaimed: (body) => ({
    title: 'Handoff reclaimed',
    tone: 'warn',
    facts: [
      `from ${body.role}`,
      ...((body.labels ?? []).length === 0 ? [] : [`with labels ${list(body.labels ?? [])}`]),
    ],
  }),
  handoff_expired: (body) => ({
    title: 'Handoff expired',
    tone: 'warn',
    facts: [`no ${body.role} accepted it in time`],
  }),
}

const PROPOSALS = {
  allowed: 'Calls proposed and allowed',
  partial: 'Calls proposed, some blocked',
  blocked: 'Calls proposed and blocked',
  no_calls: 'Response without calls',
} as const
