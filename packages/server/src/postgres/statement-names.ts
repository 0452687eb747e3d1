import { createHash } from 'node:crypto'

interface Named {
  readonly name: string
  readonly text: string
}

/** Texts that are put together in many ways must not fill the memory of every connection. */
const MOST_NAMED = 1_000
const known = new Map<string, Named>()

/** A statement that PostgreSQL keeps prepared is known by a name; one text has one name everywhere. */
export function named(text: string): Named | null {
  const found = known.get(text)
  if (found !== undefined || known.size >= MOST_NAMED) return found ?? null
  const made = { name: createHash('sha256').update(text).digest('base64url').slice(0, 22), text }
  known.set(text, made)
  return made
}
