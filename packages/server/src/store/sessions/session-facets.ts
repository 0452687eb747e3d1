import type { BlockReason, LedgerBody } from '@countersign/protocol'
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
  const blocked = judgedCalls(events).filter((call) => call.reasons.length > 0)
  if (added.length === 0 && blocked.length === 0) return []
  const reasons = new Set(blocked.flatMap((call) => call.reasons))
  return [
    ...added.map((value): Facet => ({ kind: 'label', value })),
    ...[...reasons].map((value): Facet => ({ kind: 'reason', value })),
  ]
}

/** The CTE `faceted`: the facets of the value `facets`, noted for the session in `changed`. */
export const NOTE_FACETS = `faceted as (
    insert into session_facets (tenant_id, kind, value, created_at, session_id)
    select changed.tenant_id, f.kind, f.value, :created_at::timestamptz, changed.session_id
    from changed, json_to_recordset(:facets::text::json) as f (kind text, value text)
    on conflict do nothing
  )`

/** How many calls the events decide, and why the last one is blocked. */
export function decisionCounts(events: readonly NewEvent[]): {
  allowed: number
  blocked: number
  lastReason: BlockReason | null
} {
  const calls = judgedCalls(events)
  const blocked = calls.filter(({ decision }) => decision === 'block')
  return {
    allowed: calls.length - blocked.length,
    blocked: blocked.length,
    lastReason: blocked.at(-1)?.reasons[0] ?? null,
  }
}

/** At most one event of a change is a proposal. */
function judgedCalls(events: readonly NewEvent[]): LedgerBody<'proposal'>['calls'] {
  const proposal = events.find(({ type }) => type === 'proposal')
  return proposal === undefined ? NO_CALLS : (proposal.body as unknown as LedgerBody<'proposal'>).calls
}

const NO_CALLS: LedgerBody<'proposal'>['calls'] = []
