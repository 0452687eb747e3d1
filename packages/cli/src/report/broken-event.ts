/** An event of a ledger that is malformed. Sequence numbers start at 1. */
export class BrokenEvent extends Error {
  override name = 'BrokenEvent'
  readonly seq: number

  constructor(seq: number, message: string) {
    super(message)
    this.seq = seq
  }
}

/** The part of a schema error that is used here. */
interface SchemaError {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]
}

/** The first malformed event of a page; null when something else is wrong with the page. */
export function firstBrokenEvent({ issues }: SchemaError, after = 0): BrokenEvent | null {
  const ofEvents = issues.filter(({ path }) => path[0] === 'events' && typeof path[1] === 'number')
  const [first] = ofEvents.sort((a, b) => Number(a.path[1]) - Number(b.path[1]))
  if (first === undefined || ofEvents.length < issues.length) return null
  const member = first.path.slice(2).join('.') || 'the event'
  return new BrokenEvent(after + Number(first.path[1]) + 1, `${member} is malformed: ${first.message}`)
}

export const isSchemaError = (error: unknown): error is Error & SchemaError =>
  error instanceof Error && 'issues' in error && Array.isArray(error.issues)
