import type { Input, Reply, Routes } from '@countersign/protocol'
import { advance, changeSession } from '../change/change-session.js'
import type { Context } from '../context/context.js'
import { writeControl } from '../store/sessions/sessions.js'
import { stopReply } from './stop-reply.js'

/** Records that the wrapped client was bypassed: the session is compromised and takes no more authoritative writes. */
export async function reportBypass(
  ctx: Context,
  { params, body }: Input<Routes['reportBypass']>,
): Promise<Reply<Routes['reportBypass']>> {
  return changeSession(ctx, params.session_id, (sight) => {
    const { session } = sight
    const { status } = session.state
    if (status === 'KILLED' || status === 'COMPROMISED') return { reply: stopReply(session) }
    const facts = { method: body.method ?? null, cause: 'bypass' } as const
    const next = advance(sight, [{ type: 'bypass', at: session.now.toISOString(), body: facts }])
    return {
      write: (sql) => writeControl(sql, { session, leaseUntil: session.leaseUntil, ...next }),
      reply: stopReply(next),
    }
  })
}
