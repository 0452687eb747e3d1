export interface PlanFile {
  readonly file: string
  readonly text: string
}

export interface MergedFile extends PlanFile {
  /** The text a colleague saved meanwhile, where both changed the file in different ways; null: it is removed. */
  readonly theirs?: string | null
}

/**
 * My edits on what a colleague saved meanwhile. A file that only one of us changed is taken as changed; where
 * both did, mine stays and theirs is beside it, to choose from.
 */
export function mergeFiles(
  base: readonly PlanFile[],
  mine: readonly PlanFile[],
  theirs: readonly PlanFile[],
): MergedFile[] {
  const [was, is, other] = [base, mine, theirs].map((files) => new Map(files.map(({ file, text }) => [file, text])))
  const names = [...new Set([...theirs, ...mine].map(({ file }) => file))]
  return names.flatMap((file): MergedFile[] => {
    const [before, own, saved] = [was?.get(file), is?.get(file), other?.get(file)]
    const changed = own !== before
    if (!changed || own === saved) return saved === undefined ? [] : [{ file, text: saved }]
    // I removed it: it stays removed, unless they changed what I removed.
    if (own === undefined) return saved === before || saved === undefined ? [] : [{ file, text: saved }]
    return saved === before ? [{ file, text: own }] : [{ file, text: own, theirs: saved ?? null }]
  })
}
