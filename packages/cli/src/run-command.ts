import { readFileSync } from 'node:fs'
import { suggestName } from '@countersign/engine'
import { COMMANDS } from './commands.js'
import { type Command, type Terminal, Unreadable } from './terminal/command.js'
import { errorText, isUsage } from './terminal/error-text.js'

const HELP = new Set(['help', '--help', '-h'])
const VERSION = new Set(['version', '--version', '-v'])

/** Runs `countersign NAME ARGS` and returns the exit code. */
export async function runCommand([name, ...args]: readonly string[], terminal: Terminal): Promise<number> {
  const load = name === undefined ? undefined : COMMANDS[name]
  if (load === undefined) {
    if (name === undefined || HELP.has(name)) {
      terminal.print(await overview())
      return 0
    }
    if (VERSION.has(name)) {
      terminal.print(`countersign ${ownVersion()}, Node ${process.version}`)
      return 0
    }
    terminal.note(
      `countersign: unknown command ${name}: ${suggestName(name, Object.keys(COMMANDS))}\n${await overview()}`,
    )
    return 2
  }
  const command = await load()
  if (ownArguments(args).some((argument) => argument !== 'help' && HELP.has(argument))) {
    const help = command.help ? `\n\n${command.help()}` : ''
    terminal.print(`${usageOf(command).join('\n')}\n\n${command.summary}${help}`)
    return 0
  }
  try {
    return await command.run(args, terminal)
  } catch (error) {
    terminal.note(`countersign ${name}: ${errorText(error, flagsOf(command))}`)
    if (isUsage(error)) terminal.note(`usage: ${usageOf(command).join('\n       ')}`)
    return isUsage(error) || error instanceof Unreadable ? 2 : 1
  }
}

/** What follows `--` is for another program. */
const ownArguments = (args: readonly string[]): readonly string[] =>
  args.includes('--') ? args.slice(0, args.indexOf('--')) : args

const usageOf = ({ usage }: Command): string[] => usage.map((form) => `countersign ${form}`)

const flagsOf = ({ usage, settings = [] }: Command): string[] => [
  ...(usage.join(' ').match(/--[a-z-]+/g) ?? []),
  ...settings.map((flag) => `--${flag}`),
]

async function overview(): Promise<string> {
  const loaded = await Promise.all(Object.values(COMMANDS).map((load) => load()))
  const commands = loaded.flatMap((command) => [
    ...usageOf(command).map((form) => `  ${form}`),
    `      ${command.summary}`,
  ])
  return [
    'Countersign governs the tool calls an LLM agent proposes.',
    '',
    ...commands,
    '',
    'countersign COMMAND --help shows more about a command, countersign --version the version.',
  ].join('\n')
}

/** The version of the installed package. */
function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return version
}
