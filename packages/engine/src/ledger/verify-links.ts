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

/** A chain that is checked event by event, so that not all of it is in memory. */
export interface LinkCheck<Event extends Link> {
  /** What is wrong with the next event, or null. */
  add(event: Event): string | null
  /** The last good event; null before the first. */
  head(): LedgerHead | null
}

export function checkLinks<Event extends Link>(rules: LinkRules<Event>): LinkCheck<Event> {
  let head: LedgerHead | null = null
  let owner: string | null = null
  return {
    add: (event) => {
      owner ??= rules.ownerOf(event)
      const seq = (head?.seq ?? 0) + 1
      const problem = linkProblem(event, rules, { seq, prevHash: head?.hash ?? GENESIS_HASH, owner })
      if (problem === null) head = { seq: event.seq, hash: event.hash }
      return problem
    },
    head: () => head,
  }
}

/** Checks sequence numbers, hashes and shapes from the first event on, and the head if it is known from elsewhere. */
export function verifyLinks<Event extends Link>(
  events: readonly Event[],
  rules: LinkRules<Event>,
  head: LedgerHead | undefined,
): ChainCheck {
  const links = checkLinks(rules)
  for (const event of events) {
    const problem = links.add(event)
    if (problem !== null) return { ok: false, brokenAt: (links.head()?.seq ?? 0) + 1, problem }
  }
  return head === undefined ? { ok: true, head: links.head() } : reaches(links.head(), head)
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

/** Whether a chain that ends here has the head that is known. */
export function reaches(end: LedgerHead | null, head: LedgerHead): ChainCheck {
  if (end?.seq === head.seq && end.hash === head.hash) return { ok: true, head: end }
  const last = end?.seq ?? 0
  const problem =
    last === head.seq
      ? `event ${last} does not have the hash of the known head`
      : `the chain ends at event ${last}, but the known head is event ${head.seq}`
  return { ok: false, brokenAt: Math.max(1, Math.min(last + 1, head.seq)), problem }
}
