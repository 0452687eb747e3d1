#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import type { Terminal } from './command.js'
import { UsageError } from './command.js'
import { COMMANDS } from './commands/index.js'

const terminal: Terminal = {
  print: (line) => void process.stdout.write(`${line}\n`),
  note: (line) => void process.stderr.write(`${line}\n`),
}

/** What a person should do about a failure they can mend; anything else is shown with where it happened. */
const MENDS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there; choose another folder with --data-folder or change its rights',
  EPERM: 'this user may not do that; choose another folder with --data-folder or change its rights',
  EROFS: 'the file system is read-only; choose another folder with --data-folder',
  ENOSPC: 'the disk is full; make room or choose another folder with --data-folder',
  ECONNREFUSED: 'no PostgreSQL answers there; check DATABASE_URL',
}

/** Errors whose message says all there is to say. */
const PLAIN = new Set([
  'BackupError',
  'ConfigError',
  'DatabaseTrouble',
  'FolderInUse',
  'ListenError',
  'MigrationError',
  'UsageError',
])

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
    terminal.note(`countersign: there is no command ${name}\n${overview()}`)
    return 2
  }
  if (args.some((argument) => argument !== 'help' && HELP.has(argument))) {
    terminal.print(`countersign ${command.usage}\n\n${command.summary}\n${command.help ? `\n${command.help()}` : ''}`)
    return 0
  }
  try {
    return await command.run(args, terminal)
  } catch (error) {
    terminal.note(`countersign ${name}: ${wordsFor(error)}`)
    if (!isUsage(error)) return 1
    terminal.note(`usage: countersign ${command.usage}`)
    return 2
  }
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

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '')
const isUsage = (error: unknown) => error instanceof UsageError || codeOf(error).startsWith('ERR_PARSE_ARGS')

function wordsFor(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const mend = MENDS[codeOf(error)]
  if (mend !== undefined) return `${error.message}: ${mend}`
  return PLAIN.has(error.name) || isUsage(error) ? error.message : (error.stack ?? error.message)
}

process.exitCode = await run(process.argv.slice(2))
