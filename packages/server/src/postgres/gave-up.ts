/** No connection came free in time: others use them all. Answered 503 `BUSY`. */
export class DatabaseBusy extends Error {
  override name = 'DatabaseBusy'
  constructor(waitMs: number) {
    super(`no database connection came free within ${waitMs} ms`)
  }
}

/** PostgreSQL did not answer, or cannot be reached: what was sent may be done or not. Answered 503 `UNAVAILABLE`. */
export class DatabaseUnreachable extends Error {
  override name = 'DatabaseUnreachable'
}
