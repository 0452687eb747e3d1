import type { JsonValue, PendingCallView } from '@countersign/protocol'
import { pendingCalls } from '../change/session-view.js'
import type { Query } from '../postgres/sql.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import { loadArguments, readArguments } from '../store/sessions/stored-arguments.js'
import { hashOrNull } from './content-check.js'

/** The pending calls, those in doubt with the arguments that are stored of them: a person must look up what they did. */
export async function withArgumentsInDoubt(query: Query, session: SessionRow): Promise<PendingCallView[]> {
  const calls = pendingCalls(session)
  const proposalId = session.head.state.open?.proposalId
  if (proposalId === undefined || !calls.some(({ state }) => state === 'in_doubt')) return calls
  const stored = await query((sql) => loadArguments(sql, session.fixed, proposalId))
  // By their hash: what was changed in the database since is not shown.
  const byHash = argumentsByHash(session.fixed.hashSalt, stored ?? [])
  return calls.map((call) =>
    call.state === 'in_doubt' ? { ...call, arguments: byHash.get(call.argument_hash) ?? null } : call,
  )
}

function argumentsByHash(salt: string, stored: readonly string[]): ReadonlyMap<string, JsonValue> {
  const byHash = new Map<string, JsonValue>()
  for (const value of readArguments(stored).values()) {
    const hash = hashOrNull(salt, value)
    if (hash !== null) byHash.set(hash, value)
  }
  return byHash
}
