/** An error or warning about a source: what is wrong, where, and how to fix it. */
export interface CompileNote {
  readonly file: string
  readonly line: number | null
  /** Where in the file, such as `preconditions[0].same`; empty for the whole file. */
  readonly path: string
  readonly message: string
  readonly fix: string
}

/** A note in one line: `refund.yaml:12 aggregates[0].path: what is wrong (how to fix it)`. */
export function describeNote({ file, line, path, message, fix }: CompileNote): string {
  const place = line === null ? file : `${file}:${line}`
  return `${place}${path === '' ? '' : ` ${path}`}: ${message} (${fix})`
}

/** Sorts notes by file and line. */
export function inOrder(notes: CompileNote[]): CompileNote[] {
  return notes.sort(
    (a, b) =>
      compare(a.file, b.file) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      compare(a.path, b.path) ||
      compare(a.message, b.message),
  )
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Writes a path as text: `preconditions[0].same`. */
export function writePlace(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`
    return text === '' ? step : `${text}.${step}`
  }, '')
}
