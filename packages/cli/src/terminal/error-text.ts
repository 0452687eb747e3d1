import { suggestName } from '@countersign/engine'
import { UsageError } from './command.js'
import { SYSTEM_FIXES } from './system-fixes.js'

/**
 * What a person reads when a command fails: what went wrong and what to do. Only an unexpected error shows its stack.
 * `flags` are those the command accepts.
 */
export function errorText(error: unknown, flags: readonly string[] = []): string {
  if (!(error instanceof Error)) return String(error)
  const [, option] = codeOf(error) === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? (/'(--[^']+)'/.exec(error.message) ?? []) : []
  if (option !== undefined) return `unknown option ${option}: ${suggestName(option, flags)}`
  const fix = SYSTEM_FIXES[codeOf(error)]
  if (fix !== undefined) return `${error.message || messagesIn(error)}: ${fix}`
  return EXPECTED.has(error.name) || isUsage(error) ? error.message : (error.stack ?? error.message)
}

/** Whether the command was called with wrong arguments. */
export const isUsage = (error: unknown): boolean =>
  error instanceof UsageError || codeOf(error).startsWith('ERR_PARSE_ARGS') || isWrongFlag(error)

/** A setting that was given as a flag, such as `--port abc`; one in the environment is not about this call. */
const isWrongFlag = (error: unknown): boolean =>
  error instanceof Error && /^(?:Config|Settings)Error$/.test(error.name) && error.message.startsWith('--')

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')

/** For a host with several addresses, Node throws one error without a message that holds an error for each address. */
const messagesIn = (error: Error): string =>
  error instanceof AggregateError ? error.errors.map((inner: Error) => inner.message).join(', ') : error.name

/** Names of errors whose message already says everything. */
const EXPECTED = new Set([
  'ArchiveError',
  'BackupError',
  'ConfigError',
  'DatabaseTrouble',
  'DatabaseUnreachable',
  'DistributionError',
  'FolderInUse',
  'ListenError',
  'MigrationError',
  'NoFolder',
  'NoPostgres',
  'NoPrimary',
  'OperatorError',
  'SettingsError',
  'Unreadable',
  'UsageError',
])
