import type { ChainedEvent, JsonValue, LedgerExport, LedgerHead, SessionEvent } from '@countersign/protocol'
import { LEDGER_EVENTS } from '@countersign/protocol'
import { hashPlan, preparePlan } from '../compile/prepare-plan.js'
import type { Plan } from '../contract/plan.js'
import { canonicalJson } from '../json/canonical-json.js'
import { applyEvent, foldEvents } from '../state/apply-event.js'
import type { SessionState } from '../state/state.js'
import { type ChainCheck, GENESIS_HASH, hashOf, type LinkRules, verifyLinks } from './verify-links.js'

/** Appends an event to its session's chain. */
export function chainEvent(prev: LedgerHead | null, sessionId: string, event: SessionEvent): ChainedEvent {
  const { type, at } = event
  const body = event.body as unknown as ChainedEvent['body']
  const seq = (prev?.seq ?? 0) + 1
  const prev_hash = prev?.hash ?? GENESIS_HASH
  const hash = hashOf({ session_id: sessionId, seq, type, at, body, prev_hash })
  return { session_id: sessionId, seq, type, at, body, prev_hash, hash }
}

const SESSION_LINKS: LinkRules<ChainedEvent> = {
  owner: 'session',
  ownerOf: ({ session_id }) => session_id,
  shapes: LEDGER_EVENTS,
}

/** Checks sequence numbers, hashes and shapes from the first event on, and the head if it is known from elsewhere. */
export const verifyChain = (events: readonly ChainedEvent[], head?: LedgerHead): ChainCheck =>
  verifyLinks(events, SESSION_LINKS, head)

/** Verifies a whole export offline: the chain, the plan's hash, and that the events fold to the stored state. */
export function verifyExport(
  exported: Pick<LedgerExport, 'session_id' | 'events' | 'head' | 'compiled_hash' | 'compiled_session' | 'state'>,
): ChainCheck {
  const chain = verifyChain(exported.events, exported.head)
  if (!chain.ok) return chain
  const created = exported.events[0]
  if (created?.session_id !== exported.session_id)
    return { ok: false, brokenAt: 1, problem: 'the event belongs to another session' }
  const fail = (problem: string): ChainCheck => ({ ok: false, brokenAt: exported.head.seq, problem })
  if (exported.compiled_session === null) return fail('the export contains no plan')
  if (hashPlan(exported.compiled_session) !== exported.compiled_hash) return fail('the plan does not match its hash')
  if (created.body.compiled_hash !== exported.compiled_hash) return fail('the session was created with another plan')
  const prepared = preparePlan(exported.compiled_session)
  if (!prepared.ok) return fail(`the plan cannot be used: ${prepared.problems.join('; ')}`)
  const folded = foldNamed(exported.events as unknown as SessionEvent[], prepared.plan)
  if ('problem' in folded) return { ok: false, ...folded }
  return sameState(folded.state, exported.state) ? chain : fail('the events do not fold to the stored state')
}

type Folded = { readonly state: SessionState } | { readonly brokenAt: number; readonly problem: string }

/** Folds event by event, so that the impossible one can be named. */
function foldNamed([created, ...rest]: readonly SessionEvent[], plan: Plan): Folded {
  let seq = 1
  try {
    let state = foldEvents(created === undefined ? [] : [created], plan)
    for (const event of rest) {
      seq++
      state = applyEvent(state, event, plan)
    }
    return { state }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { brokenAt: seq, problem: `the events cannot be folded: ${why}` }
  }
}

/** A value without a canonical form is not a state. */
function sameState(folded: SessionState, stored: JsonValue): boolean {
  try {
    return canonicalJson(folded as unknown as JsonValue) === canonicalJson(stored)
  } catch {
    return false
  }
}
