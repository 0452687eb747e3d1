import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type PackFile, parseStrictJson, readToolDefinitions, starterPack } from '@countersign/engine'
import { serverNameProblem } from '@countersign/gateway'
import { FILE_NAMES, fileSchema, type JsonValue } from '@countersign/protocol'
import { listMcpTools } from '../api/list-mcp-tools.js'
import { type Command, Unreadable, UsageError } from '../terminal/command.js'

export const init: Command = {
  usage: ['init FOLDER --tools FILE [--server NAME]', 'init FOLDER --server NAME -- COMMAND...'],
  summary:
    'write a first folder of contracts from the definitions of tools: a JSON file, - for standard input, or those of an MCP server',
  help: () =>
    [
      'FILE holds the tools of a request to OpenAI or Anthropic, or what an MCP server answers to tools/list: the list',
      'itself, or an object with it under tools or result.tools. COMMAND is an MCP server on standard input and output: it is',
      'started and asked for its tools. With --server NAME they are named as countersign mcp --server NAME and the gateway',
      'name them: NAME__tool. For each tool a contract is written, with its arguments',
      'and, as comments, rules that you may want; beside them session.yaml, stories for countersign test, and the JSON',
      'Schemas that editors check the files with. Tools that pay, delete or administer, or whose name does not say what they',
      'do, ask a person until you decide; behind countersign gateway or countersign mcp their calls are blocked meanwhile.',
      'Nothing is overwritten: FOLDER must be new or empty.',
      'Exit codes: 0 written; 1 the folder is not empty, or a contract would not compile; 2 wrong usage, or FILE or the server',
      'cannot be read.',
    ].join('\n'),
  run: async (args, { print, note }) => {
    const { folder, source, server } = readArguments(args)
    const isFile = typeof source === 'string'
    const read = readToolDefinitions(isFile ? readJson(source) : await toolsOf(source))
    if (!read.ok) throw new Unreadable(`${isFile ? source : source.join(' ')}: ${read.problem}`)
    const named = (name: string): string => (server === null ? name : `${server}__${name}`)
    const pack = starterPack(read.tools.map((tool) => ({ ...tool, name: named(tool.name) })))
    if (!pack.ok) {
      for (const problem of pack.problems) note(`error ${problem}`)
      return 1
    }
    const problem = writeNew(folder, [...pack.files, ...SCHEMAS])
    if (problem !== null) {
      note(`error ${problem}`)
      return 1
    }
    for (const written of pack.files) print(join(folder, written.file))
    if (read.isPart) note('note: the list of tools goes on (nextCursor): only the tools of this page have a contract')
    if (pack.asks > 0) {
      const some = pack.asks === 1 ? '1 tool asks' : `${pack.asks} tools ask`
      note(`${some} a person before running. Behind countersign gateway or countersign mcp they are blocked`)
    }
    note(`Check each side_effect, add the rules you need, and run: npx countersign test ${folder}`)
    return 0
  },
}

const SCHEMAS: readonly PackFile[] = FILE_NAMES.map((name) => ({
  // Hidden, so that they are not read as contracts.
  file: `.${name}.schema.json`,
  text: `${JSON.stringify(fileSchema(name), null, 1)}\n`,
}))

interface Arguments {
  readonly folder: string
  /** A file, or the command of an MCP server. */
  readonly source: string | readonly string[]
  readonly server: string | null
}

function readArguments(args: readonly string[]): Arguments {
  const options = { tools: { type: 'string' }, server: { type: 'string' } } as const
  const at = args.indexOf('--')
  const command = at === -1 ? [] : args.slice(at + 1)
  const flags = at === -1 ? args : args.slice(0, at)
  const { values, positionals } = parseArgs({ args: [...flags], options, allowPositionals: true })
  const [folder, ...rest] = positionals
  const { tools, server = null } = values
  if (folder === undefined || rest.length > 0) throw new UsageError('expected one folder to write')
  const problem = server === null ? null : serverNameProblem(server)
  if (problem !== null) throw new UsageError(`--server ${problem}`)
  if (tools !== undefined && command.length > 0) throw new UsageError('pass --tools FILE or -- COMMAND, not both')
  if (tools !== undefined) return { folder, source: tools, server }
  if (command.length === 0) {
    throw new UsageError('--tools FILE or -- COMMAND is required: the definitions of the tools, or an MCP server')
  }
  if (server === null) {
    throw new UsageError(
      '--server NAME is required with -- COMMAND: the name that countersign mcp or the gateway is given',
    )
  }
  return { folder, source: command, server }
}

async function toolsOf(command: readonly string[]): Promise<JsonValue> {
  try {
    return await listMcpTools(command)
  } catch (error) {
    throw new Unreadable(`the MCP server ${command.join(' ')} gave no tools: ${messageOf(error)}`)
  }
}

const STANDARD_INPUT = 0

function readJson(file: string): JsonValue {
  let text: string
  try {
    text = readFileSync(file === '-' ? STANDARD_INPUT : file, 'utf8')
  } catch (error) {
    throw new Unreadable(`${file} cannot be read: ${messageOf(error)}`)
  }
  const parsed = parseStrictJson(text)
  if (!parsed.ok) throw new Unreadable(`${file} holds no JSON: ${parsed.problem}`)
  return parsed.value
}

/** Writes all files or none, over nothing that exists. Returns what prevents it. */
function writeNew(folder: string, files: readonly PackFile[]): string | null {
  const written: string[] = []
  try {
    mkdirSync(folder, { recursive: true })
    const [found] = readdirSync(folder)
    if (found !== undefined) return `${folder} is not empty (it holds ${found}): name a new folder`
    for (const { file, text } of files) {
      writeFileSync(join(folder, file), text, { flag: 'wx' })
      written.push(join(folder, file))
    }
    return null
  } catch (error) {
    for (const path of written) rmSync(path, { force: true })
    return `${folder} cannot be written: ${messageOf(error)}`
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
