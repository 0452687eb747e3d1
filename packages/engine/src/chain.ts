import type { ChainedEvent, JsonValue, LedgerExport, LedgerHead, SessionEvent } from '@countersign/protocol'
import { LEDGER_EVENTS } from '@countersign/protocol'
import { foldEvents } from './advance.js'
import { canonicalJson } from './canonical-json.js'
import { sha256Hex } from './hash.js'
import { hashPlan, preparePlan } from './prepare-plan.js'

/** What stands before the first event. */
export const GENESIS_HASH = '0'.repeat(64)

/** Puts an event behind the head of its session's chain. */
export function chainEvent(prev: LedgerHead | null, sessionId: string, event: SessionEvent): ChainedEvent {
  const { type, at } = event
  const body = event.body as unknown as ChainedEvent['body']
  const seq = (prev?.seq ?? 0) + 1
  const prev_hash = prev?.hash ?? GENESIS_HASH
  const hash = hashOf({ session_id: sessionId, seq, type, at, body, prev_hash })
  return { session_id: sessionId, seq, type, at, body, prev_hash, hash }
}

export type ChainCheck =
  | { readonly ok: true; readonly head: LedgerHead | null }
  | { readonly ok: false; readonly brokenAt: number; readonly problem: string }

/** Checks numbers, hashes and shapes from the first event on, and the head where one is known from elsewhere. */
export function verifyChain(events: readonly ChainedEvent[], head?: LedgerHead): ChainCheck {
  let prev: LedgerHead | null = null
  const sessionId = events[0]?.session_id
  for (const event of events) {
    const seq: number = (prev?.seq ?? 0) + 1
    const problem = eventProblem(event, seq, prev?.hash ?? GENESIS_HASH, sessionId)
    if (problem !== null) return { ok: false, brokenAt: seq, problem }
    prev = { seq: event.seq, hash: event.hash }
  }
  if (head !== undefined && (prev?.seq !== head.seq || prev.hash !== head.hash)) {
    const problem = `the chain ends at ${prev?.seq ?? 0}, and its head is known to be ${head.seq}`
    return { ok: false, brokenAt: Math.min((prev?.seq ?? 0) + 1, head.seq), problem }
  }
  return { ok: true, head: prev }
}

/** Checks a whole export offline: the chain, the plan's hash, and that the events fold to the state that was kept. */
export function verifyExport(
  exported: Pick<LedgerExport, 'session_id' | 'events' | 'head' | 'compiled_hash' | 'compiled_session' | 'state'>,
): ChainCheck {
  const chain = verifyChain(exported.events, exported.head)
  if (!chain.ok) return chain
  const created = exported.events[0]
  if (created?.session_id !== exported.session_id)
    return { ok: false, brokenAt: 1, problem: 'the event belongs to another session' }
  const fail = (problem: string): ChainCheck => ({ ok: false, brokenAt: exported.head.seq, problem })
  if (exported.compiled_session === null) return fail('the export holds no plan')
  if (hashPlan(exported.compiled_session) !== exported.compiled_hash) return fail('the plan does not have its hash')
  if (created.body.compiled_hash !== exported.compiled_hash) return fail('the session was created with another plan')
  const prepared = preparePlan(exported.compiled_session)
  if (!prepared.ok) return fail(`the plan cannot be used: ${prepared.problems.join('; ')}`)
  let folded: JsonValue
  try {
    folded = foldEvents(exported.events as unknown as SessionEvent[], prepared.plan) as unknown as JsonValue
  } catch (error) {
    return fail(`the events cannot be folded: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (canonicalJson(folded) !== canonicalJson(exported.state)) return fail('the events do not fold to the state')
  return chain
}

function eventProblem(
  event: ChainedEvent,
  seq: number,
  prevHash: string,
  sessionId: string | undefined,
): string | null {
  if (event.seq !== seq) return `event ${seq} is missing: ${event.seq} follows ${seq - 1}`
  if (event.session_id !== sessionId) return 'the event belongs to another session'
  if (event.prev_hash !== prevHash) return 'prev_hash is not the hash of the event before'
  const { hash, ...content } = event
  if (hash !== hashOf(content)) return 'the content does not have its hash'
  if (!Object.hasOwn(LEDGER_EVENTS, event.type)) return `the type "${event.type}" is not known`
  return LEDGER_EVENTS[event.type].safeParse(event.body).success ? null : `the body is not one of "${event.type}"`
}

function hashOf(content: Omit<ChainedEvent, 'hash'>): string {
  return sha256Hex(canonicalJson(content as unknown as JsonValue))
}
