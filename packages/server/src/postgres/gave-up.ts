/** No connection came free in time: others use them all. Answered 503 `BUSY`. */
export class DatabaseBusy extends Error {
  override name = 'DatabaseBusy'
  constructor(waitMs: number) {
    super(`no database connection came free within ${waitMs} ms`)
  }
}

/** PostgreSQL did not answer in time, or cannot be reached. Reported as 503 `UNAVAILABLE`. */
export class DatabaseUnreachable extends Error {
  override name = 'DatabaseUnreachable'
  constructor(waitMs: number) {
    super(`PostgreSQL was not heard within ${waitMs} ms`)
  }
}
