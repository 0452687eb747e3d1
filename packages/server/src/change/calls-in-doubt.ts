import { saltedHash } from '@countersign/engine'
import type { JsonValue, PendingCallView } from '@countersign/protocol'
import type { Queryable } from '../postgres/sql.js'
import { loadContent } from '../store/sessions/content.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { pendingCalls } from './session-view.js'

/** The pending calls, those in doubt with the arguments that are stored of them: somebody must look up what they did. */
export async function withArgumentsInDoubt(sql: Queryable, session: SessionRow): Promise<PendingCallView[]> {
  const calls = pendingCalls(session)
  const proposalId = session.head.state.open?.proposalId
  if (proposalId === undefined || !calls.some(({ state }) => state === 'in_doubt')) return calls
  const stored = await loadContent(sql, session.fixed, { kind: 'arguments', ref: proposalId })
  const byHash = new Map(
    argumentsIn(stored).map((value) => [saltedHash(session.fixed.hashSalt, value), value] as const),
  )
  // By their hash: what was changed in the database since is not shown.
  return calls.map((call) =>
    call.state === 'in_doubt' ? { ...call, arguments: byHash.get(call.argument_hash) ?? null } : call,
  )
}

function argumentsIn(stored: JsonValue): JsonValue[] {
  if (!Array.isArray(stored)) return []
  return stored.flatMap((call) =>
    typeof call === 'object' && call !== null && !Array.isArray(call) ? [call.arguments ?? null] : [],
  )
}
