import { ApiError } from './api-error.js'

/**
 * Where a page of records in the order of their time ended: the time in whole microseconds, as PostgreSQL stores it (a
 * Date ends at the millisecond, and records of one millisecond would be left out), and the record's id.
 */
export interface PageEnd {
  readonly at: string
  readonly id: string
}

/** As text that means nothing to its reader. */
const writeTimeCursor = ({ at, id }: PageEnd): string => Buffer.from(`${at} ${id}`).toString('base64url')

export function readTimeCursor(cursor: string | undefined): PageEnd | null {
  if (cursor === undefined) return null
  const [, at, id] = /^(-?\d{1,18}) ([A-Za-z0-9_.:-]{1,160})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (at === undefined || id === undefined || !isPossible(BigInt(at))) {
    throw new ApiError('INVALID_REQUEST', { detail: 'query.cursor: not a cursor of this list' })
  }
  return { at, id }
}

/** No record is of another time: years before 100 cannot be written, and those beyond 9999 not read. */
const isPossible = (microseconds: bigint): boolean => microseconds >= EARLIEST && microseconds < LATEST

const EARLIEST = BigInt(Date.parse('0100-01-01T00:00:00Z')) * 1_000n
const LATEST = BigInt(Date.parse('+010000-01-01T00:00:00Z')) * 1_000n

/** The first `limit` of rows that were asked for one beyond it, and where the next page begins. */
export function pageByTime<Row extends { readonly pageAt: string }, Item>(
  rows: readonly Row[],
  limit: number,
  { view, id, isCut = false, stopped = null }: PageView<Row, Item>,
): { items: Item[]; next: string | null } {
  const page = rows.slice(0, limit)
  const last = rows.length > page.length || isCut ? page.at(-1) : undefined
  const end = last === undefined ? stopped : { at: last.pageAt, id: id(last) }
  return { items: page.map(view), next: end === null ? null : writeTimeCursor(end) }
}

interface PageView<Row, Item> {
  readonly view: (row: Row) => Item
  readonly id: (row: Row) => string
  /** There are more, although not as many came as were asked for. */
  readonly isCut?: boolean
  /** Where a list stopped looking that found fewer. */
  readonly stopped?: PageEnd | null
}
