import type { Input, Reply, Routes } from '@countersign/protocol'
import type { Context } from '../context/context.js'
import { inRead } from '../context/work.js'
import { listSealsAfter } from '../store/ledgers/seals.js'

/** The seals over signed heads, to keep elsewhere. They name no tenant. */
export async function listSeals(
  ctx: Context,
  { query }: Input<Routes['listSeals']>,
): Promise<Reply<Routes['listSeals']>> {
  const found = await inRead(ctx, (sql) => listSealsAfter(sql, query.after, query.limit + 1))
  const seals = found.slice(0, query.limit)
  return { seals, next: found.length > seals.length ? (seals.at(-1)?.number ?? null) : null }
}
