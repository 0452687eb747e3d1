import type { Input, Reply, Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { kill } from '../sessions/kill.js'

/** Kills a session from the dashboard: the agent's next write is refused, wherever it runs. */
export function killSessionByPerson(
  ctx: UserContext,
  { params, body }: Input<Routes['killSessionByPerson']>,
): Promise<Reply<Routes['killSessionByPerson']>> {
  return kill(ctx, { sessionId: params.session_id, by: 'dashboard', reason: body.reason })
}
