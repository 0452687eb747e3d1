#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { suggestName } from '@countersign/engine'
import { COMMANDS } from './commands/index.js'
import { SETTING_FLAGS } from './commands/start.js'
import { Unreadable } from './terminal/command.js'
import { createTerminal } from './terminal/create-terminal.js'
import { isUsage, wordsFor } from './terminal/words-for.js'

const terminal = createTerminal(process.stdout, process.stderr)

const HELP = new Set(['help', '--help', '-h'])
const VERSION = new Set(['version', '--version', '-v'])

async function run([name, ...args]: readonly string[]): Promise<number> {
  const command = name === undefined ? undefined : COMMANDS[name]
  if (command === undefined) {
    if (name === undefined || HELP.has(name)) {
      terminal.print(overview())
      return 0
    }
    if (VERSION.has(name)) {
      terminal.print(`countersign ${ownVersion()}, Node ${process.version}`)
      return 0
    }
    terminal.note(
      `countersign: there is no command ${name}: ${suggestName(name, Object.keys(COMMANDS))}\n${overview()}`,
    )
    return 2
  }
  if (args.some((argument) => argument !== 'help' && HELP.has(argument))) {
    terminal.print(`countersign ${command.usage}\n\n${command.summary}\n${command.help ? `\n${command.help()}` : ''}`)
    return 0
  }
  try {
    return await command.run(args, terminal)
  } catch (error) {
    terminal.note(`countersign ${name}: ${wordsFor(error, flagsOf(command.usage))}`)
    if (isUsage(error)) terminal.note(`usage: countersign ${command.usage}`)
    return isUsage(error) || error instanceof Unreadable ? 2 : 1
  }
}

function flagsOf(usage: string): string[] {
  const settings = usage.includes('[settings]') ? Object.keys(SETTING_FLAGS).map((flag) => `--${flag}`) : []
  return [...(usage.match(/--[a-z-]+/g) ?? []), ...settings]
}

function overview(): string {
  const rows = Object.values(COMMANDS).map(({ usage, summary }) => `  countersign ${usage}\n      ${summary}`)
  return `Countersign governs the tool calls an LLM agent proposes.\n\n${rows.join('\n')}\n\ncountersign COMMAND --help tells more; countersign --version says which one this is.`
}

/** The package as it was installed. */
function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return version
}

process.exitCode = await run(process.argv.slice(2))
