import type { ChainedEvent, JsonValue, LedgerExport, LedgerHead, SessionEvent } from '@countersign/protocol'
import { LEDGER_EVENTS } from '@countersign/protocol'
import { hashPlan, preparePlan } from '../compile/prepare-plan.js'
import type { Plan } from '../contract/plan.js'
import { hashValue } from '../json/hash.js'
import { applyEvent, foldEvents } from '../state/apply-event.js'
import type { SessionState } from '../state/state.js'
import {
  type ChainCheck,
  checkLinks,
  GENESIS_HASH,
  hashOf,
  type LinkRules,
  reaches,
  verifyLinks,
} from './verify-links.js'
import { checkQuestions } from './verify-questions.js'

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
  const check = createExportCheck(exported)
  for (const event of exported.events) {
    const broken = check.add(event)
    if (broken !== null) return broken
  }
  return check.end(exported)
}

type Broken = Extract<ChainCheck, { ok: false }>

/** An export that is verified event by event, so that not all of them are in memory. */
export interface ExportCheck {
  /** What is wrong with the next event, or null. After the first bad one nothing more is to be added. */
  add(event: ChainedEvent): Broken | null
  /** The verdict on the whole, after the last event. */
  end(stored: Pick<LedgerExport, 'head' | 'state'>): ChainCheck
}

/** What is known already of the compiled plan of an export. */
export interface KnownPlan {
  /** Made ready. */
  readonly plan: Plan | null
  /** Its hash, counted anew. */
  readonly hash?: string
}

export function createExportCheck(
  {
    session_id,
    compiled_hash,
    compiled_session,
  }: Omit<Parameters<typeof verifyExport>[0], 'events' | 'head' | 'state'>,
  known: KnownPlan = { plan: null },
): ExportCheck {
  const links = checkLinks(SESSION_LINKS)
  const usable = planOf({ compiled_hash, compiled_session }, known)
  const questions = checkQuestions()
  let state: SessionState | null = null
  let createdWith: unknown
  return {
    add: (event) => {
      const problem = links.add(event)
      if (problem !== null) return { ok: false, brokenAt: (links.head()?.seq ?? 0) + 1, problem }
      if (event.session_id !== session_id)
        return { ok: false, brokenAt: event.seq, problem: 'the event belongs to another session' }
      const asked = questions.add(event as unknown as SessionEvent)
      if (asked !== null) return { ok: false, brokenAt: event.seq, problem: asked }
      if (event.seq === 1) createdWith = event.body.compiled_hash
      // A plan that the session was not created with would fold to anything.
      if ('problem' in usable || createdWith !== compiled_hash) return null
      const folded = foldNext(state, event, usable.plan)
      if ('problem' in folded) return { ok: false, brokenAt: event.seq, problem: folded.problem }
      state = folded.state
      return null
    },
    end(stored) {
      const chain = reaches(links.head(), stored.head)
      if (!chain.ok) return chain
      const fail = (problem: string): ChainCheck => ({ ok: false, brokenAt: stored.head.seq, problem })
      if ('problem' in usable) return fail(usable.problem)
      if (createdWith !== compiled_hash) return fail('the session was created with another plan')
      const isSame = state !== null && sameState(state, stored.state)
      return isSame ? chain : fail('the events do not fold to the stored state')
    },
  }
}

function planOf(
  { compiled_hash, compiled_session }: Pick<LedgerExport, 'compiled_hash' | 'compiled_session'>,
  { plan: ready, hash }: KnownPlan,
): { readonly plan: Plan } | { readonly problem: string } {
  if (compiled_session === null) return { problem: 'the export contains no plan' }
  if ((hash ?? hashPlan(compiled_session)) !== compiled_hash) return { problem: 'the plan does not match its hash' }
  if (ready?.hash === compiled_hash) return { plan: ready }
  const prepared = preparePlan(compiled_session)
  return prepared.ok ? { plan: prepared.plan } : { problem: `the plan cannot be used: ${prepared.problems.join('; ')}` }
}

type Folded = { readonly state: SessionState } | { readonly problem: string }

function foldNext(state: SessionState | null, chained: ChainedEvent, plan: Plan): Folded {
  const event = chained as unknown as SessionEvent
  try {
    return { state: state === null ? foldEvents([event], plan) : applyEvent(state, event, plan) }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { problem: `the events cannot be folded: ${why}` }
  }
}

/** A value without a canonical form is not a state. */
function sameState(folded: SessionState, stored: JsonValue): boolean {
  try {
    return hashValue(folded as unknown as JsonValue) === hashValue(stored)
  } catch {
    return false
  }
}
