import { saltedHash } from '@countersign/engine'
import type { Decision, JsonValue, LedgerBody, LedgerCall } from '@countersign/protocol'
import type { NewContent } from '../store/sessions/content.js'
import type { PreparedRequest } from '../store/sessions/session-row.js'
import { readArguments } from '../store/sessions/stored-arguments.js'
import type { StoredDecisions, StoredTurn } from '../store/sessions/stored-turns.js'

/** Which stored parts of a proposal contradict what its event in the ledger says of them. */
export interface ContentCheck {
  /** Indexes of calls. */
  readonly arguments: ReadonlySet<number>
  /** The arguments that are stored and fit, by the index of their call. */
  readonly intact: ReadonlyMap<number, JsonValue>
  readonly decisions: boolean
  readonly request: boolean
}

/** Content lies outside of the chain, but its hashes do not: what was changed in the database does not fit them. */
export function checkContent(salt: string, event: LedgerBody<'proposal'>, turn: StoredTurn): ContentCheck {
  const changed = new Set<number>()
  const intact = new Map<number, JsonValue>()
  const stored = turn.arguments === null ? null : readArguments(turn.arguments)
  for (const call of stored === null ? [] : event.calls) {
    const value = stored?.get(call.index)
    if (value !== undefined && argumentsFit(salt, call, value)) intact.set(call.index, value)
    else changed.add(call.index)
  }
  return {
    arguments: changed,
    intact,
    decisions: !decisionsFit(salt, event, turn),
    request: !requestFits(salt, event.prepared_digest, turn.request),
  }
}

/** What the ledger says of decisions that are stored with their explanations. Undefined where none are. */
export function decisionsHash(salt: string, content: readonly NewContent[]): string | undefined {
  const stored = content.find(({ kind }) => kind === 'decisions')
  if (stored === undefined) return undefined
  // As they are read back from the database.
  return hashOrNull(salt, JSON.parse(stored.text) as JsonValue) ?? undefined
}

/** The changed parts for people; empty: everything fits. */
export function changedParts({ calls }: LedgerBody<'proposal'>, check: ContentCheck): string[] {
  const parts = calls
    .filter(({ index }) => check.arguments.has(index))
    .map(({ index, tool_name }) => `the arguments of call ${index} (${tool_name})`)
  if (check.decisions) parts.push('the explanation of its decisions')
  if (check.request) parts.push('its preflight')
  return parts
}

function argumentsFit(salt: string, { argument_hash }: LedgerCall, value: JsonValue): boolean {
  // What could not be read has no hash: nothing says what it was.
  return argument_hash === null || hashOrNull(salt, value) === argument_hash
}

/** Whether the stored decisions are those of the ledger. */
export function decisionsFit(
  salt: string,
  event: LedgerBody<'proposal'>,
  { decisions, fullDecisions }: StoredDecisions,
): boolean {
  if (!sameVerdicts(event, decisions) || (fullDecisions !== null && !sameVerdicts(event, fullDecisions))) return false
  // Ledgers of older versions hash no decisions.
  if (fullDecisions === null || event.decisions_hash === undefined) return true
  return hashOrNull(salt, fullDecisions as unknown as JsonValue) === event.decisions_hash
}

const sameVerdicts = ({ calls }: LedgerBody<'proposal'>, decisions: readonly Decision[]): boolean =>
  decisions.length === calls.length &&
  calls.every((call, at) => {
    const decision = decisions[at]
    // Of two rules that block for the same reason, the ledger names it once.
    const reasons = [...new Set(decision?.reasons.map(({ reason }) => reason))]
    return (
      decision?.index === call.index &&
      decision.call_id === call.call_id &&
      decision.tool_name === call.tool_name &&
      decision.decision === call.decision &&
      decision.pending_call_id === call.pending_call_id &&
      decision.argument_hash === call.argument_hash &&
      reasons.length === call.reasons.length &&
      call.reasons.every((reason, rank) => reasons[rank] === reason)
    )
  })

function requestFits(salt: string, digest: string, { digest: _, ...request }: PreparedRequest): boolean {
  return hashOrNull(salt, request as unknown as JsonValue) === digest
}

/** What has no canonical form was never hashed. */
export function hashOrNull(salt: string, value: JsonValue): string | null {
  try {
    return saltedHash(salt, value)
  } catch {
    return null
  }
}
