import type { Input, Reply, Routes } from '@countersign/protocol'
import { advance } from '../change/advance.js'
import { changeSession } from '../change/change-session.js'
import { stopReply } from '../change/stop-reply.js'
import type { Context } from '../context/context.js'

/** Records that the wrapped client was bypassed: the session is compromised and takes no more authoritative writes. */
export async function reportBypass(
  ctx: Context,
  { params, body }: Input<Routes['reportBypass']>,
): Promise<Reply<Routes['reportBypass']>> {
  return changeSession(
    ctx,
    params.session_id,
    (loaded) => {
      const { session } = loaded
      const { status } = session.head.state
      if (status === 'KILLED' || status === 'COMPROMISED') return { reply: stopReply(session.head) }
      const facts = { method: body.method ?? null, cause: 'bypass' } as const
      const { head, events } = advance(loaded, [{ type: 'bypass', at: session.now.toISOString(), body: facts }])
      return { change: { session, head, events }, reply: stopReply(head) }
    },
    { withoutPlan: true },
  )
}
