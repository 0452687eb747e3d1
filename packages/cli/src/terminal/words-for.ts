import { suggestName } from '@countersign/engine'
import { UsageError } from './command.js'

/**
 * What a person reads of a failure: what went wrong and what to do; where it happened only if nobody foresaw it.
 * `flags` are those that the command takes.
 */
export function wordsFor(error: unknown, flags: readonly string[] = []): string {
  if (!(error instanceof Error)) return String(error)
  const [, written] = codeOf(error) === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? (/'(--[^']+)'/.exec(error.message) ?? []) : []
  if (written !== undefined) return `Unknown option '${written}': ${suggestName(written, flags)}`
  const mend = MENDS[codeOf(error)]
  if (mend !== undefined) return `${error.message || messagesIn(error)}: ${mend}`
  return PLAIN.has(error.name) || isUsage(error) ? error.message : (error.stack ?? error.message)
}

/** The command was called in a way that it does not know. */
export const isUsage = (error: unknown): boolean =>
  error instanceof UsageError || codeOf(error).startsWith('ERR_PARSE_ARGS')

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')

/** Where a name has several addresses, Node gathers what each of them said, under no message of its own. */
const messagesIn = (error: Error): string =>
  error instanceof AggregateError ? error.errors.map((inner: Error) => inner.message).join(', ') : error.name

const NO_FOLDER = 'that is a file, or lies below one; choose a folder with --data-folder'
const NO_ANSWER = 'no PostgreSQL answers there; check DATABASE_URL'
const NO_HOST = 'there is no host of that name; check DATABASE_URL'
const NO_ENTRY = 'PostgreSQL does not let this user in; check name and password in DATABASE_URL'

/** By the code of the system, of the PostgreSQL client or of PostgreSQL. */
const MENDS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there; choose another folder with --data-folder or change its rights',
  EPERM: 'this user may not do that; choose another folder with --data-folder or change its rights',
  EROFS: 'the file system is read-only; choose another folder with --data-folder',
  ENOSPC: 'the disk is full; make room or choose another folder with --data-folder',
  EEXIST: NO_FOLDER,
  ENOTDIR: NO_FOLDER,
  ECONNREFUSED: NO_ANSWER,
  ETIMEDOUT: NO_ANSWER,
  EHOSTUNREACH: NO_ANSWER,
  CONNECT_TIMEOUT: NO_ANSWER,
  ENOTFOUND: NO_HOST,
  EAI_AGAIN: NO_HOST,
  ECONNRESET: 'the connection was ended; check DATABASE_URL and whether its sslmode is what PostgreSQL expects',
  CONNECTION_CLOSED: 'the connection was ended; check that DATABASE_URL leads to a PostgreSQL',
  '28P01': NO_ENTRY,
  '28000': NO_ENTRY,
  '3D000': 'make the database first, or check its name in DATABASE_URL',
  '42501': 'the user of DATABASE_URL may not do that; make it the owner of the database',
  '25006': 'the database is read-only, as a standby is; check that DATABASE_URL leads to the primary',
  '53300': 'PostgreSQL takes no more connections; raise its max_connections, or lower COUNTERSIGN_POOL_SIZE',
}

/** Errors whose message says all there is to say. */
const PLAIN = new Set([
  'BackupError',
  'ConfigError',
  'DatabaseTrouble',
  'FolderInUse',
  'ListenError',
  'MigrationError',
  'NoFolder',
  'NoPostgres',
  'OperatorError',
  'Unreadable',
  'UsageError',
])
