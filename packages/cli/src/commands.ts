import type { Command } from './terminal/command.js'

/** Every command by name, in the order of the overview. Only what is called is loaded: all of it takes a second. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import('./commands/start.js')).start,
  gateway: async () => (await import('./commands/gateway.js')).gateway,
  mcp: async () => (await import('./commands/mcp.js')).mcp,
  tenant: async () => (await import('./commands/operator/tenant.js')).tenant,
  user: async () => (await import('./commands/operator/user.js')).user,
  key: async () => (await import('./commands/operator/key.js')).key,
  issuer: async () => (await import('./commands/operator/issuer.js')).issuer,
  'set-aside': async () => (await import('./commands/operator/set-aside.js')).setAside,
  init: async () => (await import('./commands/init.js')).init,
  schema: async () => (await import('./commands/schema.js')).schema,
  compile: async () => (await import('./commands/compile.js')).compile,
  test: async () => (await import('./commands/test.js')).test,
  validate: async () => (await import('./commands/validate.js')).validate,
  plan: async () => (await import('./commands/plan.js')).plan,
  run: async () => (await import('./commands/run.js')).run,
  session: async () => (await import('./commands/session.js')).session,
  agent: async () => (await import('./commands/agent.js')).agent,
  verify: async () => (await import('./commands/verify.js')).verify,
  seals: async () => (await import('./commands/seals.js')).seals,
  'ledger-key': async () => (await import('./commands/ledger-key.js')).ledgerKey,
  backup: async () => (await import('./commands/operator/backup.js')).backup,
  archive: async () => (await import('./commands/operator/archive.js')).archive,
  restore: async () => (await import('./commands/operator/restore.js')).restore,
  distribute: async () => (await import('./commands/operator/distribute.js')).distribute,
}
