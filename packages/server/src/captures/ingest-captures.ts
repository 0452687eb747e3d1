import type { Reply, Routes } from '@countersign/protocol'
import type { Context } from '../context/context.js'
import type { ReadCaptures } from '../context/tasks.js'
import { inStatement } from '../context/work.js'
import { insertCaptures, storeOfferedTools } from '../store/captures/captures.js'
import { saltsOf } from './strip-capture.js'

/** Stores a batch of captures. */
export async function ingestCaptures(
  ctx: Context,
  { body: read }: { readonly body: ReadCaptures },
): Promise<Reply<Routes['ingestCaptures']>> {
  const { tenantId } = ctx.tenant
  const { accepted, repeated, rejected, texts } = read
  if (accepted === 0) return { accepted: 0, duplicates: repeated, rejected }
  const salts = saltsOf(read.agents, ctx.app.random)
  const stored = await inStatement(ctx, (sql) => insertCaptures(sql, tenantId, texts, { salts, governed: false }))
  const memory = ctx.app.offeredTools
  const offered = memory.unknown(read.offered)
  if (offered.length > 0) {
    await inStatement(ctx, (sql) => storeOfferedTools(sql, tenantId, offered))
    memory.remember(offered)
  }
  return { accepted: stored, duplicates: repeated + accepted - stored, rejected }
}
