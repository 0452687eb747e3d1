import type { Input, Reply, Routes } from '@countersign/protocol'
import type { Context } from '../context/context.js'
import { listSealsAfter } from '../store/ledgers/seals.js'

/** The seals over signed heads, to keep elsewhere. They name no tenant. */
export async function listSeals(
  ctx: Context,
  { query }: Input<Routes['listSeals']>,
): Promise<Reply<Routes['listSeals']>> {
  const found = await listSealsAfter(ctx.app.database.sql, query.after, query.limit + 1)
  const seals = found.slice(0, query.limit)
  return { seals, next: found.length > seals.length ? (seals.at(-1)?.number ?? null) : null }
}
