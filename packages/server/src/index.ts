export { ArchiveError } from './archives/archive-file.js'
export { YOUNGEST_ARCHIVED_DAYS } from './archives/archive-sessions.js'
export { type CheckedArchive, type CheckedLedger, checkArchive } from './archives/check-archive.js'
export { type Config, ConfigError, readConfig, SETTINGS, settingsHelp } from './base/config.js'
export { newLedgerKey } from './base/crypto/ledger-keys.js'
export type { Context, Handlers, OpenContext, Services, UserContext } from './context/context.js'
export { type AppParts, createApp } from './http/app.js'
export { configOf, type Flags, runServer } from './main.js'
export { BackupError } from './process/backup.js'
export { FolderInUse } from './process/embedded-postgres/folder-lock.js'
export { startEmbeddedPostgres } from './process/embedded-postgres/start-embedded-postgres.js'
export { ledgerKeysOf } from './process/ledger-signer.js'
export {
  addIssuer,
  archiveTo,
  backUpTo,
  changeQuota,
  createKey,
  createTenant,
  distribute,
  dropAside,
  findAside,
  issuersOf,
  keysOf,
  removeIssuer,
  restoreFrom,
  retryAside,
  revokeKeyOf,
  setAsideOf,
  type TenantArchived,
  tenantsOf,
} from './process/operator.js'
export { changeUser, inviteUser, type UserChange, usersOf } from './process/operator-users.js'
export { createRuntime, ListenError, type RunningServer, startServer } from './process/start-server.js'
export { MigrationError, migrate } from './schema/migrate.js'
export { SET_ASIDE_KINDS, type SetAside, type SetAsideKey } from './store/set-aside.js'
