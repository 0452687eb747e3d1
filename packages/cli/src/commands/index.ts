import type { Command } from '../terminal/command.js'
import { backup } from './backup.js'
import { compile } from './compile.js'
import { gateway } from './gateway.js'
import { init } from './init.js'
import { key } from './key.js'
import { ledgerKey } from './ledger-key.js'
import { mcp } from './mcp.js'
import { plan } from './plan.js'
import { restore } from './restore.js'
import { run } from './run.js'
import { schema } from './schema.js'
import { seals } from './seals.js'
import { setAside } from './set-aside.js'
import { start } from './start.js'
import { tenant } from './tenant.js'
import { test } from './test.js'
import { validate } from './validate.js'
import { verify } from './verify.js'

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
  verify,
  seals,
  'ledger-key': ledgerKey,
  backup,
  restore,
}
