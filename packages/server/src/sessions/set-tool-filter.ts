import type { Input, Reply, Routes } from '@countersign/protocol'
import { advance } from '../change/advance.js'
import { changeSession } from '../change/change-session.js'
import { requireAuthority, requireFence } from '../change/guards.js'
import type { Context } from '../context/context.js'

/** Sets the only tools that may be used, or with null lifts the restriction. */
export async function setToolFilter(
  ctx: Context,
  { params, body }: Input<Routes['setToolFilter']>,
): Promise<Reply<Routes['setToolFilter']>> {
  const tools = body.tools === null ? null : [...new Set(body.tools)].sort()
  return changeSession(
    ctx,
    params.session_id,
    (loaded) => {
      const { session } = loaded
      requireAuthority(session)
      requireFence(session, body.fence)
      const { toolFilter, controlRevision } = session.head.state
      if (JSON.stringify(toolFilter) === JSON.stringify(tools)) {
        return { reply: { tool_filter: tools, control_revision: controlRevision, ledger: session.head.ledger } }
      }
      const event = { type: 'tool_filter', at: session.now.toISOString(), body: { tools } } as const
      const { head, events } = advance(loaded, [event], { leaseUntil: 'as_long' })
      return {
        change: { session, head, events },
        reply: { tool_filter: tools, control_revision: head.state.controlRevision, ledger: head.ledger },
      }
    },
    { withoutPlan: true },
  )
}
