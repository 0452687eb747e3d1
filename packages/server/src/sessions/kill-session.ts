import type { Input, Reply, Routes } from '@countersign/protocol'
import type { Context } from '../context/context.js'
import { kill } from './kill.js'

/** Kills the session, for good. Killing it again changes nothing. */
export function killSession(
  ctx: Context,
  { params, body }: Input<Routes['killSession']>,
): Promise<Reply<Routes['killSession']>> {
  return kill(ctx, { sessionId: params.session_id, by: 'client', reason: body.reason })
}
