import { ApiError } from '../../api-error.js'
import type { SessionCursor } from '../../store/session-list.js'

/** Where a page of sessions ended, as text that means nothing to its reader. */
export const writeCursor = ({ createdAt, sessionId }: SessionCursor): string =>
  Buffer.from(`${createdAt.getTime()} ${sessionId}`).toString('base64url')

export function readCursor(cursor: string | undefined): SessionCursor | null {
  if (cursor === undefined) return null
  const [, time, sessionId] =
    /^(\d{1,16}) ([A-Za-z0-9_.:-]{1,128})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (time === undefined || sessionId === undefined) {
    throw new ApiError('INVALID_REQUEST', { detail: 'query.cursor: not one that this list gave' })
  }
  return { createdAt: new Date(Number(time)), sessionId }
}
