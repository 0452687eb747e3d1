/**
 * What the thread that answers requests works on itself. Anything larger runs whole in a thread of its own, which may end
 * (decision 0010). All of it together takes at most about 5 ms, as `npm run bench -- hostile` shows.
 */
export const IN_PLACE = {
  bodyBytes: 16 * 1024,
  stateBytes: 64 * 1024,
  /** What a plan has in memory. Preparing it, once, takes 10 to 25 ns for each of these bytes. */
  planBytes: 1_500_000,
  /** The cost of a plan for each byte of a body, times the bytes: 20 ns each at the worst. */
  costOfBytes: 256 * 1024,
} as const

/** Thrown before anything is written: the request begins again in a thread of its own. */
export class NotInPlace extends Error {
  override name = 'NotInPlace'
}
