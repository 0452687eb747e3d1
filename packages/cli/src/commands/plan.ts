import { parseArgs } from 'node:util'
import { type Environment, environmentSchema } from '@countersign/protocol'
import { ReplayConfigError, readPack } from '@countersign/sdk'
import { callRoute, RefusedError, serviceOf } from '../api/call-route.js'
import { type Command, type Terminal, UsageError } from '../terminal/command.js'

export const plan: Command = {
  usage: ['plan diff|submit FOLDER --agent NAME --environment NAME [--url URL] [--key KEY] [--json]'],
  summary: 'compare a contract pack with the current plan, or submit it as a draft for approval',
  help: () =>
    [
      'diff stores nothing. submit creates a draft, which enforces nothing until someone approves it in the dashboard.',
      'Each line begins with the effect of a change (allows, blocks, changes), or with blocker or note for the reviewer.',
      'Without --url and --key, COUNTERSIGN_API_URL and COUNTERSIGN_API_KEY are used.',
      'Exit codes: 0 nothing prevents approval; 1 there are blockers, or the pack was refused; 2 wrong usage.',
    ].join('\n'),
  run: async (args, terminal) => {
    const given = readArguments(args)
    try {
      const files = filesOf(given.folder)
      const { agent, environment } = given
      const body = { agent, environment, files }
      const answer =
        given.action === 'diff'
          ? await callRoute(given.service, 'diffPlan', { body })
          : await callRoute(given.service, 'submitPlan', { body })
      if (given.json) terminal.print(JSON.stringify(answer))
      else show(answer, given, terminal)
      return answer.blockers.length > 0 ? 1 : 0
    } catch (error) {
      if (!(error instanceof RefusedError || error instanceof ReplayConfigError)) throw error
      terminal.note(`error ${error.message}`)
      if (error instanceof RefusedError) for (const problem of error.problems) terminal.note(`  ${problem}`)
      return 1
    }
  },
}

function readArguments(args: readonly string[]) {
  const text = { type: 'string' } as const
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { agent: text, environment: text, url: text, key: text, json: { type: 'boolean' } },
    allowPositionals: true,
  })
  const [action, folder, ...rest] = positionals
  if (action !== 'diff' && action !== 'submit') throw new UsageError('expected diff or submit')
  if (folder === undefined || rest.length > 0) throw new UsageError('expected one folder with contracts')
  if (values.agent === undefined) throw new UsageError('--agent NAME is required')
  const environment = environmentSchema.safeParse(values.environment)
  if (!environment.success) throw new UsageError('--environment must be development, staging or production')
  return {
    action,
    folder,
    agent: values.agent,
    environment: environment.data satisfies Environment,
    service: serviceOf(values),
    json: values.json === true,
  } as const
}

function filesOf(folder: string): { file: string; text: string }[] {
  const { contracts, session } = readPack(folder)
  const sources = session === undefined ? contracts : [...contracts, session]
  return sources.map(({ file, text }) => ({ file, text: text ?? '' }))
}

interface Compared {
  changes: readonly { effect: string; text: string }[]
  blockers: readonly { message: string }[]
  advisories: readonly { message: string }[]
}

type Answered =
  | { compiled_hash: string; running_hash: string | null }
  | { plan: { plan_id: string; compiled_hash: string }; running: { compiled_hash: string } | null }

function show(
  answer: Compared & Answered,
  { agent, environment, service }: ReturnType<typeof readArguments>,
  { print }: Terminal,
): void {
  const isDraft = 'plan' in answer
  const running = isDraft ? (answer.running?.compiled_hash ?? null) : answer.running_hash
  if (isDraft) print(`draft ${answer.plan.plan_id} (${answer.plan.compiled_hash})`)
  else print(`compiled_hash ${answer.compiled_hash}`)
  print(
    running === null
      ? `${agent} has no current plan in ${environment}: everything is new`
      : `compared with the current plan of ${agent} in ${environment} (${running})`,
  )
  if (answer.changes.length === 0) print('no changes')
  for (const { effect, text } of answer.changes) print(`${effect.padEnd(7)} ${text}`)
  for (const { message } of answer.blockers) print(`blocker ${message}`)
  for (const { message } of answer.advisories) print(`note    ${message}`)
  if (isDraft) print(`approve or reject it at ${new URL(`/plans/${answer.plan.plan_id}`, service.url)}`)
}
