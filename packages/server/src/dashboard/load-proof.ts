import type { Input, Reply, Routes } from '@countersign/protocol'
import { loadForDecision } from '../change/change-session.js'
import type { UserContext } from '../context/context.js'
import { verifyLedger } from '../ledgers/verify-ledger.js'

/** The verdict on a session's ledger. The ledger itself is exported page by page. */
export async function loadProof(
  ctx: UserContext,
  { params }: Input<Routes['loadProof']>,
): Promise<Reply<Routes['loadProof']>> {
  const { signed, ...verdict } = await verifyLedger(ctx, await loadForDecision(ctx, params.session_id))
  return { ...verdict, signed_head: signed }
}
