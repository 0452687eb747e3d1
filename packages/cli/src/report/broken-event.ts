/** An event of a ledger that is not shaped as any event is. Its number counts from 1. */
export class BrokenEvent extends Error {
  override name = 'BrokenEvent'
  readonly seq: number

  constructor(seq: number, message: string) {
    super(message)
    this.seq = seq
  }
}

/** Where a shape did not fit, as far as it is used here. */
interface Misfit {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]
}

/** The first event of a page that has not the shape of one; null when something else is wrong with the page. */
export function firstBrokenEvent({ issues }: Misfit, after = 0): BrokenEvent | null {
  const ofEvents = issues.filter(({ path }) => path[0] === 'events' && typeof path[1] === 'number')
  const [first] = ofEvents.sort((a, b) => Number(a.path[1]) - Number(b.path[1]))
  if (first === undefined || ofEvents.length < issues.length) return null
  const member = first.path.slice(2).join('.') || 'the event'
  return new BrokenEvent(after + Number(first.path[1]) + 1, `${member} is not what it must be: ${first.message}`)
}

export const isMisfit = (error: unknown): error is Error & Misfit =>
  error instanceof Error && 'issues' in error && Array.isArray(error.issues)
