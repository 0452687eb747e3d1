import { parseArgs } from 'node:util'
import { runServer, SETTINGS, settingsHelp } from '@countersign/server'
import type { Command } from '../terminal/command.js'

/** Flags of every command that reads the service's settings. */
export const SETTING_FLAGS = Object.fromEntries(
  Object.values(SETTINGS).map(({ flag }) => [flag, { type: 'string' as const }]),
)

export const start: Command = {
  usage: 'start [settings]',
  summary: 'start the service, with an embedded PostgreSQL unless one is configured',
  help: () => `Settings, as flag or environment variable [default]:\n${settingsHelp()}`,
  run: async (args, { note }) => {
    const { values } = parseArgs({ args: [...args], options: SETTING_FLAGS })
    await runServer(values as Record<string, string | undefined>, note)
    return 0
  },
}
