import { parseArgs } from 'node:util'
import { runServer, SETTINGS, settingsHelp } from '@countersign/server'
import type { Command } from '../terminal/command.js'

/** How a command names the database it works on. */
export const DATABASE_USAGE = '[--data-folder FOLDER | --database-url URL]'

/** Flags of every command that reads the server's settings. */
export const SETTING_FLAGS = Object.fromEntries(
  Object.values(SETTINGS).map(({ flag }) => [flag, { type: 'string' as const }]),
)

export const start: Command = {
  usage: ['start [settings]'],
  summary: 'start the server, with an embedded PostgreSQL unless --database-url names another',
  settings: Object.keys(SETTING_FLAGS),
  help: () => `Settings, as a flag or an environment variable [default]:\n${settingsHelp()}`,
  run: async (args, { note }) => {
    const { values } = parseArgs({ args: [...args], options: SETTING_FLAGS })
    await runServer(values as Record<string, string | undefined>, note)
    return 0
  },
}
