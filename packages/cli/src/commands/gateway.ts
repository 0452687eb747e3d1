import { parseArgs } from 'node:util'
import { runGateway, SETTINGS, settingsHelp } from '@countersign/gateway'
import type { Command } from '../terminal/command.js'

/** A setting that is false by default is a switch: its flag takes no value. */
const FLAGS = Object.fromEntries(
  Object.values(SETTINGS).flatMap((setting) => {
    const type = setting.default === 'false' ? ('boolean' as const) : ('string' as const)
    return setting.flag === null ? [] : [[setting.flag, { type, multiple: true as const }]]
  }),
)

export const gateway: Command = {
  usage: ['gateway [--port PORT] [--agent AGENT] [--mode MODE] [--upstream NAME=URL]... [--config FILE]'],
  summary: 'start the gateway: agents in any language are governed by changing the base URL of their model client',
  help: () => `Settings, as a flag, an environment variable or in the file of --config [default]:\n${settingsHelp()}`,
  run: async (args, { note }) => {
    const { values } = parseArgs({ args: [...args], options: FLAGS })
    const flags = Object.entries(values).map(([flag, given]) => [flag, [given].flat().join(',')])
    await runGateway(Object.fromEntries(flags), note)
    return 0
  },
}
