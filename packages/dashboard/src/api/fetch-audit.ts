import type { AuditEntry } from '@countersign/protocol'
import { ApiProblem, type CallInput, call } from './api.js'

type Query = NonNullable<CallInput<'listAudit'>['query']>

const PAGE = 200

/** All entries that a filter lets through, newest first, read page by page; a full bucket is waited for. */
export async function fetchAudit(filter: Query, onProgress: (read: number) => void): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  let cursor: string | undefined
  do {
    const { items, next } = await patiently(() => call('listAudit', { query: { ...filter, cursor, limit: PAGE } }))
    entries.push(...items)
    onProgress(entries.length)
    cursor = next ?? undefined
  } while (cursor !== undefined)
  return entries
}

async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (problem) {
      if (!(problem instanceof ApiProblem) || problem.status !== 429) throw problem
      await new Promise((done) => setTimeout(done, (problem.retryAfterSeconds ?? 1) * 1_000))
    }
  }
}
