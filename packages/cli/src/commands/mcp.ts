import { parseArgs } from 'node:util'
import { approveChange, changesIn, McpFlagError, PinsError, runMcp } from '@countersign/gateway'
import { type Command, type Terminal, Unreadable, UsageError } from '../terminal/command.js'

const text = { type: 'string' } as const

export const mcp: Command = {
  usage: [
    'mcp --agent NAME [--server NAME] [--contracts FOLDER] [--mode MODE] [--environment ENV] [--pins FILE] -- COMMAND...',
    'mcp pins FILE [--approve AGENT/SERVER/TOOL]',
  ],
  summary:
    'start an MCP server on standard input and output with every call of its tools judged; show and approve changes of its tools',
  help: () => HELP,
  run: async (args, terminal) => {
    if (args[0] === 'pins') return showPins(args.slice(1), terminal)
    const { note } = terminal
    const at = args.indexOf('--')
    const [program, ...rest] = at === -1 ? [] : args.slice(at + 1)
    if (program === undefined)
      throw new UsageError('name the program of the server after --, such as: -- npx my-server')
    const { values } = parseArgs({
      args: args.slice(0, at),
      options: {
        agent: text,
        server: text,
        session: text,
        contracts: text,
        mode: text,
        environment: text,
        'unmatched-policy': text,
        'capture-level': text,
        'api-url': text,
        principal: text,
        pins: text,
        'require-proposal': { type: 'boolean' },
      },
    })
    const { agent } = values
    if (agent === undefined) throw new UsageError('--agent names the agent whose contracts or approved plan hold')
    try {
      return await runMcp({ ...values, agent }, [program, ...rest], (line) => note(`countersign mcp: ${line}`))
    } catch (error) {
      throw error instanceof McpFlagError ? new UsageError(error.message) : error
    }
  },
}

/** Shows the tools whose definition has changed since it was pinned, and approves a change. */
function showPins(args: readonly string[], { print, note }: Terminal): number {
  const options = { approve: text }
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) throw new UsageError('name one file of pins')
  try {
    if (values.approve !== undefined && !approveChange(file, values.approve)) {
      throw new UsageError(`no change of ${values.approve} waits in ${file}`)
    }
    const changes = changesIn(file)
    for (const { name, before, after } of changes) {
      print(`${name} has changed\n  pinned: ${JSON.stringify(before)}\n  now:    ${JSON.stringify(after)}`)
    }
    if (changes.length === 0) note('no change waits for approval')
    return changes.length === 0 ? 0 : 1
  } catch (error) {
    throw error instanceof PinsError ? new Unreadable(error.message) : error
  }
}

const HELP = `Put it before the command of a server in the configuration of an MCP host:
  "command": "npx", "args": ["countersign", "mcp", "--agent", "coder", "--server", "files", "--", "npx", "files-server"]
(where the package is not installed: "command": "node", "args": [".../packages/cli/bin/countersign.js", "mcp", ...])

  --agent NAME              the agent whose contracts or approved plan hold
  --server NAME             contracts name its tools NAME__tool; without it, by the tool's name alone
  --contracts FOLDER        contracts to judge by; without it, the plan approved for the agent and the environment
  --mode MODE               observe (capture only), shadow (record what would be blocked) or enforce
  --environment ENV         development, staging or production; also COUNTERSIGN_ENVIRONMENT
  --session ID              the session of the calls, such as the one that a model's client names to a gateway with the
                            header x-countersign-session: a call that the model proposed there runs as that call, once
  --require-proposal        with --session: run only calls that a model has proposed in that session
  --unmatched-policy POLICY block or allow, for tools without a contract [block]
  --capture-level LEVEL     metadata, redacted or full [redacted]
  --principal JSON          who the agent acts for, as policies see it
  --pins FILE               pin the definitions of tools in a file, not in the service: one that changes is blocked
                            until a person approves it
  --api-url URL             the Countersign server; also COUNTERSIGN_API_URL
countersign mcp pins FILE shows the tools that have changed since they were pinned, and exits 1 while one waits.
The API key comes from COUNTERSIGN_API_KEY. The server that is started sees no variable of Countersign.`
