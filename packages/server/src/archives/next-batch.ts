import type { Sql } from '../postgres/sql.js'
import {
  type ArchivePosition,
  listArchivableSessions,
  listArchivableWorkflows,
  loadPlanBytes,
  type WhatToArchive,
} from '../store/archives/archivable-sessions.js'
import type { Batch } from '../store/archives/archived-rows.js'

/** What one file holds at most, unless one session or workflow has more: it is read and removed in one go. */
export const BATCH = { sessions: 200, events: 5_000, bytes: 8_000_000 }

export interface NextBatch {
  readonly batch: Batch
  /** What is moved or stays as one: ids of workflows, and of sessions that are in none. */
  readonly units: readonly string[]
  /** The last session that was looked at. */
  readonly last: ArchivePosition
}

export interface BatchBounds {
  readonly after: ArchivePosition | null
  /** Sessions and workflows that stay. */
  readonly skipped: ReadonlySet<string>
  /** Sessions, unless one workflow has more. */
  readonly most: number
  /** Bytes of plans by their hash, as far as they are known. */
  readonly planBytes: Map<string, number>
}

/** The next sessions to move; null at the end. */
export async function nextBatch(
  sql: Sql,
  what: WhatToArchive,
  { after, skipped, most, planBytes }: BatchBounds,
): Promise<NextBatch | null> {
  const page = await listArchivableSessions(sql, what, { after, limit: BATCH.sessions })
  if (page.length === 0) return null
  const named = new Set(page.flatMap(({ workflowId }) => workflowId ?? []))
  const whole = new Map(
    (named.size === 0 ? [] : await listArchivableWorkflows(sql, what, [...named])).map((found) => [
      found.workflowId,
      found,
    ]),
  )
  const sessionIds = new Set<string>()
  const workflowIds = new Set<string>()
  const plans = new Set<string>()
  const units: string[] = []
  let last = page[0] as ArchivePosition
  let [events, bytes] = [0, 0]
  for (const session of page) {
    const { sessionId, workflowId } = session
    const unit =
      workflowId === null
        ? { ...session, sessionIds: [sessionId], compiledHashes: [session.compiledHash] }
        : whole.get(workflowId)
    const isSkipped = unit === undefined || skipped.has(workflowId ?? sessionId) || sessionIds.has(sessionId)
    if (!isSkipped) {
      // Each plan once, however many of the sessions have it.
      const more = unit.compiledHashes.filter((hash) => !plans.has(hash))
      const unitBytes = unit.bytes + (await bytesOfPlans(sql, what.tenantId, more, planBytes))
      const isFull =
        sessionIds.size + unit.sessionIds.length > most ||
        events + unit.events > BATCH.events ||
        bytes + unitBytes > BATCH.bytes
      if (isFull && sessionIds.size > 0) break
      events += unit.events
      bytes += unitBytes
      for (const hash of more) plans.add(hash)
      units.push(workflowId ?? sessionId)
      for (const id of unit.sessionIds) sessionIds.add(id)
      if (workflowId !== null) workflowIds.add(workflowId)
    }
    last = session
  }
  const { tenantId } = what
  return { batch: { tenantId, sessionIds: [...sessionIds], workflowIds: [...workflowIds] }, units, last }
}

/** Measured once: that reads them. */
async function bytesOfPlans(
  sql: Sql,
  tenantId: string,
  hashes: readonly string[],
  known: Map<string, number>,
): Promise<number> {
  const unknown = hashes.filter((hash) => !known.has(hash))
  if (unknown.length > 0)
    for (const [hash, bytes] of await loadPlanBytes(sql, tenantId, unknown)) known.set(hash, bytes)
  return hashes.reduce((sum, hash) => sum + (known.get(hash) ?? 0), 0)
}
