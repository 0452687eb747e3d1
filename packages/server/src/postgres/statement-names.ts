import { createHash } from 'node:crypto'

interface Named {
  readonly name: string
  readonly text: string
}

/** Texts that are put together in many ways must not fill the memory of every connection. */
const MOST_NAMED = 1_000
const known = new Map<string, Named>()
let renewed = 0

/** A migration has changed what the statement gives: under its name PostgreSQL would refuse it on every connection. */
export function renewName(text: string): void {
  known.delete(text)
  renewed += 1
}

/** A statement that PostgreSQL keeps prepared is known by a name; one text has one name everywhere. */
export function named(text: string): Named | null {
  const found = known.get(text)
  if (found !== undefined || known.size >= MOST_NAMED) return found ?? null
  const made = { name: createHash('sha256').update(`${renewed}${text}`).digest('base64url').slice(0, 22), text }
  known.set(text, made)
  return made
}
