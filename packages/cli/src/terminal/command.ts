/** One command of the command line. */
export interface Command {
  /** As typed after `countersign`, with its arguments: `tenant create NAME`. */
  readonly usage: string
  readonly summary: string
  /** Further lines of `--help`. */
  readonly help?: () => string
  /** Returns the exit code. Throw a UsageError for wrong arguments. */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<number>
}

/** Where a command writes: results to `print`, what accompanies them to `note`. */
export interface Terminal {
  print(line: string): void
  note(line: string): void
}

/** The arguments do not fit the command. Shown with its usage, exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** What the command was to judge could not be read, so that there is no verdict. Exit code 2, like a wrong call's. */
export class Unreadable extends Error {
  override name = 'Unreadable'
}
