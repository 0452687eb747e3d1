import type { Input, Reply, Routes } from '@countersign/protocol'
import { advance, changeSession, leaseFrom } from '../change/change-session.js'
import { requireAuthority, requireFence } from '../change/guards.js'
import type { Context } from '../context/context.js'
import { writeControl } from '../store/sessions/sessions.js'

/** Sets the only tools that may be used, or with null lifts the restriction. */
export async function setToolFilter(
  ctx: Context,
  { params, body }: Input<Routes['setToolFilter']>,
): Promise<Reply<Routes['setToolFilter']>> {
  const tools = body.tools === null ? null : [...new Set(body.tools)].sort()
  return changeSession(ctx, params.session_id, (sight) => {
    const { session, plan } = sight
    requireAuthority(session)
    requireFence(session, body.fence)
    const { toolFilter, controlRevision } = session.state
    if (JSON.stringify(toolFilter) === JSON.stringify(tools)) {
      return { reply: { tool_filter: tools, control_revision: controlRevision, ledger: session.ledger } }
    }
    const next = advance(sight, [{ type: 'tool_filter', at: session.now.toISOString(), body: { tools } }])
    const leaseUntil = leaseFrom(session.now, next.state, plan)
    return {
      write: (sql) => writeControl(sql, { session, leaseUntil, ...next }),
      reply: { tool_filter: tools, control_revision: next.state.controlRevision, ledger: next.ledger },
    }
  })
}
