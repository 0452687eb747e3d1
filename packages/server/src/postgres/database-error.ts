import pg from 'pg'
import { DatabaseBusy, DatabaseUnreachable } from './gave-up.js'

/** What a failed statement means for the caller. `null`: a fault of ours, reported as 500. */
export type DatabaseTrouble = 'unavailable' | 'busy' | 'invalid_data'

/** A transaction was idle for too long, and its connection is closed. */
const IDLE_IN_TRANSACTION = '25P03'

/** By SQLSTATE, whole or by its class (first two characters). The whole code wins. */
const TROUBLE_BY_SQLSTATE: Readonly<Record<string, DatabaseTrouble>> = {
  '08': 'unavailable', // connection exceptions
  '28': 'unavailable', // our own credentials are refused
  '53': 'unavailable', // disk full, out of memory, too many connections
  '57': 'unavailable', // shutting down, starting up
  '58': 'unavailable', // system errors below PostgreSQL
  '25006': 'unavailable', // read-only
  '3D000': 'unavailable', // the database is gone
  // The database has another version than this code: a newer instance has just changed it.
  '42P01': 'unavailable', // no such table
  '42703': 'unavailable', // no such column
  '0A000': 'unavailable', // a prepared statement whose columns have changed
  [IDLE_IN_TRANSACTION]: 'busy',
  '40001': 'busy', // serialization failure
  '40P01': 'busy', // deadlock
  '55P03': 'busy', // lock timeout
  '57014': 'busy', // statement timeout
  '22021': 'invalid_data', // not UTF-8, NUL
  '22P05': 'invalid_data', // \u0000 inside JSON
  '22P02': 'invalid_data', // malformed for its type
  '22003': 'invalid_data', // number out of range
  '22007': 'invalid_data', // no time
  '22008': 'invalid_data', // a time that cannot be stored
}

/** Codes of sockets. */
const AWAY: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
])

export function databaseTrouble(error: unknown): DatabaseTrouble | null {
  if (error instanceof DatabaseBusy) return 'busy'
  if (error instanceof DatabaseUnreachable) return 'unavailable'
  if (error instanceof pg.DatabaseError) {
    const { code = '' } = error
    return TROUBLE_BY_SQLSTATE[code] ?? TROUBLE_BY_SQLSTATE[code.slice(0, 2)] ?? null
  }
  // Node joins the failures of several addresses (IPv4 and IPv6) into one error.
  if (error instanceof AggregateError) return error.errors.map(databaseTrouble).find((found) => found !== null) ?? null
  return isSocketError(error) && AWAY.has(error.code) ? 'unavailable' : null
}

/** The driver throws plain errors without a code where a connection fails: only their words tell how. */
export const asOutage = (error: unknown): unknown =>
  error instanceof Error && error.constructor === Error && !('code' in error)
    ? new DatabaseUnreachable(error.message, { cause: error })
    : error

/** PostgreSQL ends the connection as well. */
export const closesConnection = (error: unknown): boolean =>
  !(error instanceof pg.DatabaseError) || error.code === IDLE_IN_TRANSACTION

/** A divided table has the constraint in each of its parts, with a number behind its name. */
export const violates = (error: unknown, constraint: string): boolean =>
  error instanceof pg.DatabaseError && error.constraint?.replace(/_\d{6,}$/, '') === constraint

/** A key that exists already. */
export const isUniqueViolation = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '23505'

/** A statement was prepared before a migration changed what it gives. It has done nothing. */
export const isOutdatedStatement = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '0A000' && error.message.startsWith('cached plan')

/** A statement took longer than it may. */
export const isStatementTimeout = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '57014'

/** A file that is missing (`open`, ENOENT) is no database trouble: only failures of sockets are. */
function isSocketError(error: unknown): error is Error & { code: string } {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return false
  return ['connect', 'read', 'write', 'getaddrinfo'].includes(String(error.syscall)) && typeof error.code === 'string'
}
