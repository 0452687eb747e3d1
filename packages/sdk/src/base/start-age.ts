/** How old something is that begins now. By whichever clock shows more time: one stops while a machine sleeps, the other can be set. */
export function startAge(): () => number {
  const sinceMs = performance.now()
  const sinceWallMs = Date.now()
  return () => Math.max(performance.now() - sinceMs, Date.now() - sinceWallMs)
}
