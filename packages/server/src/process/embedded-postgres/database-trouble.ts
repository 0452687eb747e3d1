/** Why the embedded PostgreSQL cannot be used. The message says all there is to say. */
export class DatabaseTrouble extends Error {
  override name = 'DatabaseTrouble'
  /** The system's code where it is known; it decides what to do. */
  readonly code: string | undefined

  constructor(message: string) {
    super(message)
    this.code = CODES.find(([pattern]) => pattern.test(message))?.[1]
  }
}

/** As PostgreSQL words them. */
const CODES: readonly [RegExp, string][] = [
  [/No space left on device|Disk quota exceeded/, 'ENOSPC'],
  [/Read-only file system/, 'EROFS'],
  [/Permission denied/, 'EACCES'],
]
