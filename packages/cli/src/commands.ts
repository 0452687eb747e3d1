import { agent } from './commands/agent.js'
import { backup } from './commands/backup.js'
import { compile } from './commands/compile.js'
import { gateway } from './commands/gateway.js'
import { init } from './commands/init.js'
import { key } from './commands/key.js'
import { ledgerKey } from './commands/ledger-key.js'
import { mcp } from './commands/mcp.js'
import { plan } from './commands/plan.js'
import { restore } from './commands/restore.js'
import { run } from './commands/run.js'
import { schema } from './commands/schema.js'
import { seals } from './commands/seals.js'
import { session } from './commands/session.js'
import { setAside } from './commands/set-aside.js'
import { start } from './commands/start.js'
import { tenant } from './commands/tenant.js'
import { test } from './commands/test.js'
import { validate } from './commands/validate.js'
import { verify } from './commands/verify.js'
import type { Command } from './terminal/command.js'

/** Every command by name, in the order of the overview. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  start,
  gateway,
  mcp,
  tenant,
  key,
  'set-aside': setAside,
  init,
  schema,
  compile,
  test,
  validate,
  plan,
  run,
  session,
  agent,
  verify,
  seals,
  'ledger-key': ledgerKey,
  backup,
  restore,
}
