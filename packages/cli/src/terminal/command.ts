/** One command of the command line. */
export interface Command {
  /** The forms of the command, as typed after `countersign`: `tenant create NAME`. */
  readonly usage: readonly [string, ...string[]]
  readonly summary: string
  /** Flags that its usage sums up as `[settings]`. */
  readonly settings?: readonly string[]
  /** More lines for `--help`. */
  readonly help?: () => string
  /** Returns the exit code. Throw a UsageError for wrong arguments. */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<number>
}

/** Where a command writes: results to `print` (standard output), everything else to `note` (standard error). */
export interface Terminal {
  print(line: string): void
  note(line: string): void
}

/** The arguments are wrong. Shown with the usage of the command; exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** The input of the command could not be read, so there is no result. Exit code 2, as for wrong arguments. */
export class Unreadable extends Error {
  override name = 'Unreadable'
}
