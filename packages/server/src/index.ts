export { type AppParts, createApp } from './app.js'
export { BackupError } from './backup.js'
export { type Config, ConfigError, readConfig, SETTINGS, settingsHelp } from './config.js'
export type { Context, Handlers, OpenContext, Services, UserContext } from './context.js'
export { FolderInUse } from './embedded-postgres/folder-lock.js'
export { startEmbeddedPostgres } from './embedded-postgres.js'
export { configOf, type Flags, runServer } from './main.js'
export {
  backUpTo,
  changeQuota,
  createKey,
  createTenant,
  keysOf,
  restoreFrom,
  revokeKeyOf,
  tenantsOf,
} from './operator.js'
export { createRuntime, ListenError, type RunningServer, startServer } from './start-server.js'
export { MigrationError, migrate } from './store/migrate.js'
