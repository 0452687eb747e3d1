/** Streams number their blocks or items. One that starts numbering anew starts a new run. */
export interface Numbered {
  readonly index: number
  readonly run: number
}

/** The run of the next one, given those before it. */
export function runOf(before: readonly Numbered[], index: number): number {
  const last = before.at(-1)
  if (last === undefined) return 0
  return index > last.index ? last.run : last.run + 1
}

/** The index of one that stays when others of its run are gone. */
export function newIndex(one: Numbered, gone: Iterable<Numbered>): number {
  let before = 0
  for (const other of gone) if (other.run === one.run && other.index < one.index) before += 1
  return one.index - before
}

/** The index of one that is put behind the last that stays. */
export function nextIndex(all: readonly Numbered[], gone: ReadonlySet<Numbered>): number {
  const run = all.at(-1)?.run
  const last = all.findLast((one) => one.run === run && !gone.has(one))
  return last === undefined ? 0 : newIndex(last, gone) + 1
}
