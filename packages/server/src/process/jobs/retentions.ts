import { LIMITS } from '@countersign/protocol'
import type { Tx } from '../../postgres/sql.js'
import { deleteIdleBuckets } from '../../store/accounts/buckets.js'
import { deleteEndedInvitations } from '../../store/accounts/invitations.js'
import { deleteOldMail, deleteOldMailTokens } from '../../store/accounts/mail.js'
import { deleteEndedRefreshTokens } from '../../store/accounts/refresh-tokens.js'
import { deleteOldAuditEntries } from '../../store/audit.js'
import { deleteOldCaptures } from '../../store/captures/captures.js'
import { deleteOldUnansweredCalls } from '../../store/dashboard/unanswered-calls.js'
import { deleteUnusedPlans } from '../../store/governance/plans.js'
import { deleteOldSeals } from '../../store/ledgers/seals.js'
import { deleteOldDeliveries } from '../../store/questions/deliveries.js'
import { BUDGET_DAYS, deleteOldRuns } from '../../store/runs/runs.js'
import { deleteOldContent, deleteOldErasures } from '../../store/sessions/content.js'
import { deleteOldFindableIds } from '../../store/sessions/findable-ids.js'
import { deleteOldPreparedRequests } from '../../store/sessions/prepared-requests.js'
import { deleteOldLateReceipts } from '../../store/sessions/receipts.js'
import { deleteEndedHolds } from '../../store/sessions/resource-holds.js'
import { deleteEndedCounts } from '../../store/sessions/shared-counts.js'
import { deleteOldStickyLabels } from '../../store/sessions/sticky-labels.js'
import { deleteExpiredTokens } from '../../store/sessions/used-tokens.js'
import { eraseOldNotes } from '../../store/workflows/handoffs.js'
import type { Job } from './job.js'

/** What only grows is cut back here. One row per kind of record, and its age by the database's clock alone. */
export interface Retention {
  readonly name: string
  /** A minute unless said: what cannot be found by its age alone is looked through less often. */
  readonly everySeconds?: number
  /** A record may have megabytes, which take their time to remove: few of them in one statement. */
  readonly large?: true
  /** Deletes up to `limit` records that are older than the configured days, and returns how many. */
  readonly remove: (tx: Tx, options: RetentionOptions) => Promise<number | Looked>
}

/** Of the records that were looked at, some are still needed. */
interface Looked {
  readonly seen: number
  readonly removed: number
}

interface RetentionOptions {
  readonly olderThanDays: number
  /** Null: the audit trail stays. */
  readonly auditDays: number | null
  readonly limit: number
}

export const RETENTIONS: readonly Retention[] = [
  { name: 'idle-buckets', everySeconds: 3_600, remove: (tx, { limit }) => deleteIdleBuckets(tx, limit) },
  {
    name: 'refresh-tokens',
    remove: (tx, { limit }) => deleteEndedRefreshTokens(tx, LIMITS.refreshTokenRetentionDays, limit),
  },
  {
    name: 'invitations',
    remove: (tx, { limit }) => deleteEndedInvitations(tx, LIMITS.refreshTokenRetentionDays, limit),
  },
  {
    name: 'prepared-requests',
    large: true,
    remove: (tx, { olderThanDays, limit }) => deleteOldPreparedRequests(tx, olderThanDays, limit),
  },
  {
    name: 'late-receipts',
    large: true,
    remove: (tx, { olderThanDays, limit }) => deleteOldLateReceipts(tx, olderThanDays, limit),
  },
  {
    name: 'unanswered-calls',
    remove: (tx, { olderThanDays, limit }) => deleteOldUnansweredCalls(tx, olderThanDays, limit),
  },
  {
    name: 'findable-ids',
    remove: (tx, { olderThanDays, limit }) => deleteOldFindableIds(tx, olderThanDays, limit),
  },
  {
    name: 'content',
    large: true,
    remove: (tx, { olderThanDays, limit }) => deleteOldContent(tx, olderThanDays, limit),
  },
  {
    name: 'erasure-marks',
    everySeconds: 3_600,
    remove: (tx, { limit }) => deleteOldErasures(tx, 1, limit),
  },
  {
    name: 'captures',
    large: true,
    remove: (tx, { olderThanDays, limit }) => deleteOldCaptures(tx, olderThanDays, limit),
  },
  {
    name: 'unused-plans',
    large: true,
    everySeconds: 3_600,
    remove: (tx, { olderThanDays, limit }) => deleteUnusedPlans(tx, olderThanDays, limit),
  },
  {
    name: 'runs',
    large: true,
    everySeconds: 3_600,
    // For as long as it counts against the budget, a run is not forgotten.
    remove: (tx, { olderThanDays, limit }) => deleteOldRuns(tx, Math.max(olderThanDays, BUDGET_DAYS), limit),
  },
  {
    name: 'audit',
    everySeconds: 3_600,
    remove: async (tx, { auditDays, limit }) => (auditDays === null ? 0 : deleteOldAuditEntries(tx, auditDays, limit)),
  },
  { name: 'ended-holds', remove: (tx, { limit }) => deleteEndedHolds(tx, limit) },
  { name: 'shared-limits', remove: (tx, { limit }) => deleteEndedCounts(tx, limit) },
  {
    name: 'sticky-labels',
    everySeconds: 3_600,
    remove: (tx, { olderThanDays, limit }) => deleteOldStickyLabels(tx, olderThanDays, limit),
  },
  // A day later: no clock is so wrong that an instance would still take the token.
  { name: 'notices', remove: (tx, { limit }) => deleteOldDeliveries(tx, 90, limit) },
  { name: 'used-tokens', remove: (tx, { limit }) => deleteExpiredTokens(tx, 1, limit) },
  {
    name: 'handoff-notes',
    large: true,
    remove: (tx, { olderThanDays, limit }) => eraseOldNotes(tx, olderThanDays, limit),
  },
  {
    name: 'seals',
    remove: (tx, { olderThanDays, limit }) => deleteOldSeals(tx, olderThanDays, limit),
  },
  {
    name: 'mail',
    remove: (tx, { olderThanDays, limit }) => deleteOldMail(tx, olderThanDays, limit),
  },
  {
    name: 'mail-tokens',
    remove: (tx, { olderThanDays, limit }) => deleteOldMailTokens(tx, olderThanDays, limit),
  },
]

/** Rows of one statement, which must end in its time however large they are. */
const BATCH = { small: 5_000, large: 50 }
/** How long statements follow each other in one transaction. */
const PIECE_MS = 300

export const retentionJob = (retention: Retention): Job => ({
  name: `retention:${retention.name}`,
  everySeconds: retention.everySeconds ?? 60,
  run: async (tx, { config, log }) => {
    const { retentionDays: olderThanDays, auditRetentionDays: auditDays } = config
    const limit = retention.large ? BATCH.large : BATCH.small
    const endMs = performance.now() + PIECE_MS
    let removed = 0
    let batch = limit
    while (batch === limit && performance.now() < endMs) {
      const found = await retention.remove(tx, { olderThanDays, auditDays, limit })
      batch = typeof found === 'number' ? found : found.seen
      removed += typeof found === 'number' ? found : found.removed
    }
    if (removed > 0) log.info({ retention: retention.name, removed }, 'removed records past their retention')
    return batch === limit
  },
})
