import { parseArgs } from 'node:util'
import { agentSchema, type StopAgentReply } from '@countersign/protocol'
import { callRoute, RefusedError, type Service, serviceOf } from '../api/call-route.js'
import { type Command, UsageError } from '../terminal/command.js'
import { reasonOf } from './session.js'

export const agent: Command = {
  usage: ['agent stop NAME [--all] [--reason TEXT] [--json] [--url URL] [--key KEY]'],
  summary: 'kill every running session of an agent, for good',
  help: () =>
    [
      'Running is a session that a program has held within the last day. --all kills older ones as well.',
      'The agent can open new sessions afterwards: revoke its API key to keep it from that (dashboard, or key revoke).',
      'Without --url and --key, COUNTERSIGN_API_URL and COUNTERSIGN_API_KEY are used.',
      'Exit codes: 0 all are killed, or none was running; 1 some could not be killed, no agent of that name is known, or the server cannot be reached; 2 wrong usage.',
    ].join('\n'),
  run: async (args, { print, note }) => {
    const given = readArguments(args)
    const stopped = await stopAll(given)
    const { killed, failed, error, similar } = stopped
    if (given.json) print(JSON.stringify({ agent: given.name, ...stopped }, null, 2))
    else if (similar !== null) {
      const meant =
        similar.length === 0 ? 'countersign session list shows names' : `did you mean ${similar.join(', ')}?`
      note(`error no agent named ${given.name} is known: ${meant}`)
    } else {
      print(`killed ${killed.length} ${killed.length === 1 ? 'session' : 'sessions'} of ${given.name}`)
      for (const { session_id, problem } of failed) note(`error ${session_id} could not be killed: ${problem}`)
      if (error !== null) note(`error ${error}`)
      if (stopped.idle > 0) note(`${stopped.idle} without a holder for a day were left as they are: --all kills them`)
      if (failed.length > 0 || error !== null) note('run the command again: what is killed stays killed')
    }
    return failed.length > 0 || error !== null || similar !== null ? 1 : 0
  },
}

function readArguments(args: readonly string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { all: flag, reason: text, json: flag, url: text, key: text },
    allowPositionals: true,
  })
  const [verb, name, ...rest] = positionals
  if (verb !== 'stop' || name === undefined || rest.length > 0) throw new UsageError('expected: agent stop NAME')
  if (!agentSchema.safeParse(name).success) throw new UsageError('NAME must have 1 to 128 characters')
  const { all = false, reason, json = false } = values
  return { name, all, reason: reason === undefined ? undefined : reasonOf(reason), json, service: serviceOf(values) }
}

interface Stopped {
  readonly killed: readonly string[]
  readonly failed: StopAgentReply['failed']
  readonly idle: number
  readonly similar: StopAgentReply['similar']
  /** Why it ended early; null: nothing was left to kill. */
  readonly error: string | null
}

/** Asks until nothing is left to kill: sessions may begin meanwhile. What could not be killed is not tried again. */
async function stopAll({ name, all, reason, service }: ReturnType<typeof readArguments>): Promise<Stopped> {
  const killed: string[] = []
  const body = { agent: name, all, ...(reason !== undefined && { reason }) }
  let last: StopAgentReply = { killed: [], failed: [], more: true, idle: 0, similar: null }
  const stopped = (error: string | null): Stopped => {
    const { failed, idle, similar } = last
    return { killed, failed, idle, similar, error }
  }
  try {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      last = await stopBatch(service, body)
      killed.push(...last.killed)
      if (last.killed.length === 0 || (last.failed.length > 0 && !last.more))
        return stopped(last.more ? 'not every session could be tried' : null)
    }
    return stopped('the agent keeps opening sessions: revoke its API key')
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error
    return stopped(error.message)
  }
}

/** At a hundred sessions each. */
const MAX_ROUNDS = 1_000

type StopBody = { agent: string; all: boolean; reason?: string }

/** Waits where there were too many stops: this one must get through. */
async function stopBatch(service: Service, body: StopBody): Promise<StopAgentReply> {
  for (let tries = 0; ; tries++) {
    try {
      return await callRoute(service, 'stopAgent', { body })
    } catch (error) {
      if (!(error instanceof RefusedError) || error.status !== 429 || tries === MAX_WAITS) throw error
      await new Promise((done) => setTimeout(done, WAIT_MS))
    }
  }
}

const MAX_WAITS = 240
const WAIT_MS = 250
