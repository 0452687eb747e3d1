import { ApiError } from './api-error.js'

/** Where a page of records in the order of their time ended. */
export interface TimeCursor {
  readonly at: Date
  readonly id: string
}

/** As text that means nothing to its reader. */
const writeTimeCursor = ({ at, id }: TimeCursor): string => Buffer.from(`${at.getTime()} ${id}`).toString('base64url')

export function readTimeCursor(cursor: string | undefined): TimeCursor | null {
  if (cursor === undefined) return null
  const [, time, id] = /^(\d{1,15}) ([A-Za-z0-9_.:-]{1,128})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (time === undefined || id === undefined) {
    throw new ApiError('INVALID_REQUEST', { detail: 'query.cursor: not one that this list gave' })
  }
  return { at: new Date(Number(time)), id }
}

/** The first `limit` of rows that were asked for one beyond it, and where the next page begins. */
export function pageByTime<Row, Item>(
  rows: readonly Row[],
  limit: number,
  { view, cursor }: { readonly view: (row: Row) => Item; readonly cursor: (row: Row) => TimeCursor },
): { items: Item[]; next: string | null } {
  const page = rows.slice(0, limit)
  const last = rows.length > page.length ? page.at(-1) : undefined
  return { items: page.map(view), next: last === undefined ? null : writeTimeCursor(cursor(last)) }
}
