import type { BlockReason, LedgerBody, LedgerCall } from '@countersign/protocol'
import type { NewEvent } from './ledger.js'
import type { SessionChange } from './session-change.js'

/** A label or block reason by which the dashboard finds a session. */
export interface Facet {
  readonly kind: 'label' | 'reason'
  readonly value: string
}

/** The labels that a change adds, and the reasons for which it blocks. */
export function facetsOf({ session, head, events, created }: SessionChange): Facet[] {
  const before = created === undefined ? session.head.state.labels : []
  const { labels } = head.state
  const added = labels.length === before.length ? [] : labels.filter((label) => !before.includes(label))
  const blocked = blocksIn(blockingEvent(events))
  if (added.length === 0 && blocked.length === 0) return []
  return [
    ...added.map((value): Facet => ({ kind: 'label', value })),
    ...[...new Set(blocked.flat())].map((value): Facet => ({ kind: 'reason', value })),
  ]
}

/** How many calls the events allow and how many they block, and why the last one is blocked. */
export function decisionCounts(events: readonly NewEvent[]): {
  allowed: number
  blocked: number
  lastReason: BlockReason | null
} {
  const event = blockingEvent(events)
  const blocked = blocksIn(event)
  const lastReason = blocked.at(-1)?.[0] ?? null
  // A turn that was refused had no calls yet.
  if (event === undefined || event.type === 'turn_blocked') return { allowed: 0, blocked: 0, lastReason }
  const isProposal = event.type === 'proposal'
  const judged = isProposal ? callsOf(event).filter(({ question, decision }) => !waits(question, decision)).length : 0
  // A call that is stopped was counted as allowed.
  return { allowed: judged - blocked.length, blocked: blocked.length, lastReason }
}

const callsOf = (event: NewEvent) => (event.body as unknown as LedgerBody<'proposal'>).calls

/** A call that waits for people is neither allowed nor blocked. */
const waits = (question: LedgerCall['question'], decision: LedgerCall['decision']): boolean =>
  decision === 'block' && question !== undefined

type Reasons = readonly BlockReason[]

const NO_BLOCKS: readonly Reasons[] = []
const BLOCKING: ReadonlySet<string> = new Set(['proposal', 'receipts', 'turn_blocked'])

/** At most one event of a change is about calls. */
const blockingEvent = (events: readonly NewEvent[]): NewEvent | undefined =>
  events.find(({ type }) => BLOCKING.has(type))

/** The reasons of each call that an event blocks; those of a turn that was refused before it had calls. */
function blocksIn(event: NewEvent | undefined): readonly Reasons[] {
  switch (event?.type) {
    case 'proposal': {
      return callsOf(event)
        .filter(({ decision, question }) => decision === 'block' && !waits(question, decision))
        .map(({ reasons }) => reasons)
    }
    case 'receipts': {
      const { receipts } = event.body as unknown as LedgerBody<'receipts'>
      return receipts.flatMap(({ block_reason }) => (block_reason === undefined ? [] : [[block_reason]]))
    }
    case 'turn_blocked':
      return [[(event.body as unknown as LedgerBody<'turn_blocked'>).reason]]
    default:
      return NO_BLOCKS
  }
}
