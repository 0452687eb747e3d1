import type { JsonValue, LedgerHead } from '@countersign/protocol'
import { hashValue } from '../json/hash.js'

/** The previous hash of the first event. */
export const GENESIS_HASH = '0'.repeat(64)

/** An intact chain with its head, or the number of the first bad event and what is wrong with it. */
export type ChainCheck =
  | { readonly ok: true; readonly head: LedgerHead | null }
  | { readonly ok: false; readonly brokenAt: number; readonly problem: string }

/** The part of an event that the chain needs. */
interface Link {
  readonly seq: number
  readonly type: string
  readonly body: unknown
  readonly prev_hash: string
  readonly hash: string
}

/** How the chains of sessions and workflows differ. */
export interface LinkRules<Event extends Link> {
  readonly owner: 'session' | 'workflow'
  readonly ownerOf: (event: Event) => string
  readonly shapes: Readonly<Record<string, { safeParse(body: unknown): { success: boolean } }>>
}

export const hashOf = (content: object): string => hashValue(content as JsonValue)

/** Checks sequence numbers, hashes and shapes from the first event on, and the head if it is known from elsewhere. */
export function verifyLinks<Event extends Link>(
  events: readonly Event[],
  rules: LinkRules<Event>,
  head: LedgerHead | undefined,
): ChainCheck {
  let prev: LedgerHead | null = null
  const [first] = events
  for (const event of events) {
    const seq: number = (prev?.seq ?? 0) + 1
    const expected = { seq, prevHash: prev?.hash ?? GENESIS_HASH, owner: rules.ownerOf(first ?? event) }
    const problem = linkProblem(event, rules, expected)
    if (problem !== null) return { ok: false, brokenAt: seq, problem }
    prev = { seq: event.seq, hash: event.hash }
  }
  return head === undefined ? { ok: true, head: prev } : reaches(prev, head)
}

function linkProblem<Event extends Link>(
  event: Event,
  { owner, ownerOf, shapes }: LinkRules<Event>,
  expected: { seq: number; prevHash: string; owner: string },
): string | null {
  if (event.seq !== expected.seq) return `event ${expected.seq} is missing: ${event.seq} follows ${expected.seq - 1}`
  if (ownerOf(event) !== expected.owner) return `the event belongs to another ${owner}`
  if (event.prev_hash !== expected.prevHash) return 'prev_hash is not the hash of the previous event'
  const { hash, ...content } = event
  try {
    if (hash !== hashOf(content)) return 'the content does not match its hash'
  } catch (error) {
    return `the content cannot be hashed: ${error instanceof Error ? error.message : String(error)}`
  }
  if (!Object.hasOwn(shapes, event.type)) return `unknown event type "${event.type}"`
  return shapes[event.type]?.safeParse(event.body).success
    ? null
    : `the body does not have the shape of "${event.type}"`
}

function reaches(end: LedgerHead | null, head: LedgerHead): ChainCheck {
  if (end?.seq === head.seq && end.hash === head.hash) return { ok: true, head: end }
  const last = end?.seq ?? 0
  const problem =
    last === head.seq
      ? `event ${last} does not have the hash of the known head`
      : `the chain ends at event ${last}, but the known head is event ${head.seq}`
  return { ok: false, brokenAt: Math.max(1, Math.min(last + 1, head.seq)), problem }
}
