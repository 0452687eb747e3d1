/**
 * The same replies with ids and hashes that are the same at every recording, in the order in which they appear, so that
 * a new recording differs only where something changed.
 */
export function stableIds<T>(replies: T): T {
  const known = new Map<string, string>()
  const renamed = JSON.stringify(replies).replaceAll(ID, (id, kind: string | undefined) => {
    const number = known.get(id) ?? numbered(known.size, kind)
    known.set(id, number)
    return number
  })
  return JSON.parse(renamed) as T
}

/** Ids that the service makes: a kind with a random part, a UUID, or a SHA-256. */
const ID =
  /\b(?:(plan|run|key|usr|us|rt|inv|tn|tnt|prp|pnd|pc|prop|aud|chk)_[A-Za-z0-9_-]{10,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64})(?![A-Za-z0-9])/g

function numbered(number: number, kind: string | undefined): string {
  const digits = number.toString(16).padStart(4, '0')
  // As long as a hash, where there is no kind.
  return kind === undefined ? digits.repeat(16) : `${kind}_${digits.repeat(4)}`
}
